#pragma once

#include <string_view>

/// Keys of two Ed25519 pairs and of other kinds. `openssl genpkey` made them for these tests only.
namespace galley::test_keys {

inline constexpr std::string_view kPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEINzQKpf1foRxiSBdm2plVtWBp+WMRWiQeYMMMUMhP0oJ\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr std::string_view kPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEATyn6Vv9YhWPjxm+4D8+GSeZBTJiKIeHn/10mMP4+hjs=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view kOtherPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAr7UkGF6ZxaaoJDUZ5FbLEgUH0QRebG0FZRM/3cE6p6s=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view kEncrypted =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhE17XfeEs9eAICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEEaeRwBU4oSmmTMonom8s78EQD7s\n"
    "dU2UkU6e+whoJVsKaKj6VeRwLd5Y9P0jipdFh2//Rqj3ruRnRzCAzNHawzmADet9\n"
    "OqntjvqaCcJnxpgttTE=\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";
inline constexpr std::string_view kX25519 =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VuBCIEICAkNHCsY9hPVIoxOJ0msq8mP5sxTHM+S2r9aRpG2uV/\n"
    "-----END PRIVATE KEY-----\n";
/// The private key of RFC 8032, 7.1, test 2. It signs the byte 0x72.
inline constexpr std::string_view kRfcPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
    "-----END PRIVATE KEY-----\n";

}  // namespace galley::test_keys
