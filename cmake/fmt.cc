// The object code of libfmt.so as an archive (see dependencies.cmake): the functions that the
// headers of fmt 9 declare, and the templates that its headers instantiate elsewhere.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto thousands_sep_impl<wchar_t>(locale_ref) -> thousands_sep_result<wchar_t>;
template FMT_API auto decimal_point_impl<char>(locale_ref) -> char;
template FMT_API auto decimal_point_impl<wchar_t>(locale_ref) -> wchar_t;
template FMT_API auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal<double>(double) noexcept
    -> dragonbox::decimal_fp<double>;

}  // namespace detail
FMT_END_NAMESPACE
