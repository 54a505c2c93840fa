#include "engine/policy/verdict_key.h"

#include "base/hash.h"

namespace galley {

Result<VerdictKey> VerdictKey::parse(std::string_view text) {
  VerdictKey key;
  if (Ed25519Key::is_pem(text)) {
    GALLEY_ASSIGN(key.pair_, Ed25519Key::parse(text));
    return key;
  }
  // Remove the newline that an editor leaves.
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() < kMinVerdictKeyBytes) {
    return fail(ErrorKind::kInvalid, "verdict.short_key",
                "the key has fewer than " + std::to_string(kMinVerdictKeyBytes) +
                    " bytes; make one with: openssl rand -hex 32");
  }
  key.secret_ = text;
  return key;
}

std::string VerdictKey::id() const { return pair_ ? "ed25519:" + pair_->id() : "hmac-sha256"; }

Result<std::string> VerdictKey::sign(std::string_view message) const {
  if (pair_) return pair_->sign(message);
  return hmac_sha256(secret_, message);
}

bool VerdictKey::verify(std::string_view message, std::string_view signature) const {
  if (pair_) return pair_->verify(message, signature);
  return equal_in_constant_time(signature, hmac_sha256(secret_, message));
}

}  // namespace galley
