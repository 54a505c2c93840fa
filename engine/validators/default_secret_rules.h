#pragma once

#include <string_view>

namespace galley {

/// The built-in rules of the `secrets` validator, in the format of gitleaks. The patterns follow
/// the documentation of each issuer of credentials. An assignment matches if its name suggests a
/// secret and its value has a high entropy.
inline constexpr std::string_view kDefaultSecretRules = R"TOML(
[[rules]]
id = "private-key"
description = "a private key"
regex = '''-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----'''
keywords = ["-----begin"]

[[rules]]
id = "aws-access-key-id"
description = "an AWS access key id"
regex = '''\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b'''
keywords = ["akia", "asia", "abia", "acca"]
[[rules.allowlists]]
regexes = ['''EXAMPLE$''']

[[rules]]
id = "aws-secret-access-key"
description = "an AWS secret access key"
regex = '''(?i)aws.{0,20}secret.{0,20}[=:>\s"']{1,5}([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)'''
keywords = ["aws"]
entropy = 3.5
[[rules.allowlists]]
stopwords = ["example"]

[[rules]]
id = "github-token"
description = "a GitHub token"
regex = '''\b((?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})\b'''
keywords = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]
entropy = 3

[[rules]]
id = "gitlab-token"
description = "a GitLab token"
regex = '''\b((?:glpat|gldt|glrt|glptt|glsoat)-[A-Za-z0-9_\-]{20,64})\b'''
keywords = ["glpat-", "gldt-", "glrt-", "glptt-", "glsoat-"]
entropy = 3

[[rules]]
id = "slack-token"
description = "a Slack token"
regex = '''\b(xox[abposre]-[A-Za-z0-9\-]{10,200}|xapp-[0-9]-[A-Za-z0-9\-]{20,200})\b'''
keywords = ["xox", "xapp-"]
entropy = 2.5

[[rules]]
id = "slack-webhook"
description = "a Slack webhook"
regex = '''https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,60}'''
keywords = ["hooks.slack.com"]

[[rules]]
id = "google-api-key"
description = "a Google API key"
regex = '''\b(AIza[A-Za-z0-9_\-]{35})(?:[^A-Za-z0-9_\-]|$)'''
keywords = ["aiza"]
entropy = 3

[[rules]]
id = "google-oauth-secret"
description = "a Google OAuth client secret"
regex = '''\b(GOCSPX-[A-Za-z0-9_\-]{28})(?:[^A-Za-z0-9_\-]|$)'''
keywords = ["gocspx-"]

[[rules]]
id = "stripe-key"
description = "a Stripe key"
regex = '''\b((?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,200})\b'''
keywords = ["sk_live", "sk_test", "sk_prod", "rk_live", "rk_test", "rk_prod"]
entropy = 2.5

[[rules]]
id = "anthropic-key"
description = "an Anthropic API key"
regex = '''\b(sk-ant-[a-z0-9]+-[A-Za-z0-9_\-]{60,200})(?:[^A-Za-z0-9_\-]|$)'''
keywords = ["sk-ant-"]

[[rules]]
id = "openai-key"
description = "an OpenAI API key"
regex = '''\b(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_\-]{20,80}T3BlbkFJ[A-Za-z0-9_\-]{20,80})(?:[^A-Za-z0-9_\-]|$)'''
keywords = ["t3blbkfj"]

[[rules]]
id = "npm-token"
description = "an npm token"
regex = '''\b(npm_[A-Za-z0-9]{36})\b'''
keywords = ["npm_"]
entropy = 3

[[rules]]
id = "pypi-token"
description = "a PyPI token"
regex = '''\b(pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_\-]{50,1000})'''
keywords = ["pypi-ageichlwas5vcmc"]

[[rules]]
id = "sendgrid-key"
description = "a SendGrid key"
regex = '''\b(SG\.[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43})(?:[^A-Za-z0-9_\-]|$)'''
keywords = ["sg."]

[[rules]]
id = "hugging-face-token"
description = "a Hugging Face token"
regex = '''\b(hf_[A-Za-z]{34})\b'''
keywords = ["hf_"]
entropy = 3

[[rules]]
id = "jwt"
description = "a JSON web token"
regex = '''\b(ey[A-Za-z0-9_\-]{17,}\.ey[A-Za-z0-9_\-/]{17,}\.[A-Za-z0-9_\-/]{10,}={0,2})(?:[^A-Za-z0-9_\-]|$)'''
keywords = ["ey"]
entropy = 3

[[rules]]
id = "url-password"
description = "a password in a URL"
regex = '''\b[a-z][a-z0-9+.\-]{2,20}://[^\s/:@"'<>${}]{0,64}:([^\s/:@"'<>${}]{6,128})@[A-Za-z0-9.\-]+'''
keywords = ["://"]
entropy = 2.5
[[rules.allowlists]]
stopwords = ["password", "passwd", "example", "changeme", "secret", "xxxx", "****"]

[[rules]]
id = "assigned-secret"
description = "a high-entropy value assigned to a name that says it is secret"
regex = '''(?i)[a-z0-9_./\-]{0,40}(?:api_?key|access_?key|secret|auth_?token|access_?token|passwd|password|credential|private_?key)[a-z0-9_.\-]{0,20}["']?\]?(?:\s{0,3}:\s{0,3}[a-z][a-z0-9_.]{0,30})?\s{0,3}(?:=|:|:=|=>)\s{0,3}["'`]([a-z0-9_.+/=\-]{16,150})["'`]'''
keywords = ["key", "secret", "token", "passw", "credential"]
entropy = 3.7
[[rules.allowlists]]
regexes = ['''^[a-z]+(?:[._\-][a-z]+)*$''', '''^[A-Z]+(?:[._\-][A-Z]+)*$''', '''^[a-z]+(?:[A-Z][a-z]+)+$''']
[[rules.allowlists]]
regexTarget = "match"
regexes = ['''(?i)(?:hash|digest|checksum|fingerprint|md5|commit|etag|uuid|sha[0-9]*|[_.\-](?:rev|oid|id|version)|(?-i:[a-z0-9](?:I[dD]|Rev|Version)))["'\]]*\s*[:=][^"'`]*["'`][0-9a-f]{32,128}["'`]$''', '''(?i)[a-z0-9]/[a-z0-9_.\-]*["']?\s*[:=]\s*["'`][0-9a-f]{64}["'`]$''']
[[rules.allowlists]]
stopwords = ["example", "placeholder", "changeme", "your", "dummy", "sample", "xxxx", "0123456789"]

# Without quotes, only in files of settings: in code, such a value is an expression. Values with less
# than two groups of digits, UUIDs, paths and words with numbers are allowed.
[[rules]]
id = "unquoted-secret"
description = "a high-entropy value assigned to a name that says it is secret"
path = '''(?i)(?:^|/)(?:[^/]*\.(?:ya?ml|ini|conf|cfg|cnf|properties|toml|tfvars|sh|bash|zsh)|[^/]*\.?env(?:rc|\.[^/]*)?|\.[^/.]*rc)$'''
regex = '''(?im)^[ \t]{0,40}(?:- |export\s{1,3})?[a-z0-9_.\-]{0,40}(?:api_?key|access_?key|secret|auth_?token|access_?token|passwd|password|credential|private_?key)[a-z0-9_.\-]{0,20}[ \t]{0,3}[=:][ \t]{0,3}([a-z0-9_.+/=\-]{20,150})[ \t]*\r?$'''
keywords = ["key", "secret", "token", "passw", "credential"]
entropy = 3.7
[[rules.allowlists]]
regexes = ['''^[^0-9]*[0-9]*[^0-9]*$''', '''^[^A-Za-z]*$''', '''^\.{0,2}/''', '''^[a-z0-9_.+=\-]*/[a-z0-9_.+=/\-]*$''', '''(?i)^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$''', '''^(?:[A-Za-z]+[0-9]{0,4}|[0-9]+)(?:[._\-/+](?:[A-Za-z]+[0-9]{0,4}|[0-9]+))*$''']
[[rules.allowlists]]
regexTarget = "match"
regexes = ['''(?i)(?:hash|digest|checksum|fingerprint|sha[0-9]*|_id|\.id|(?-i:[a-z0-9]I[dD]))[ \t]*[=:]''']
[[rules.allowlists]]
stopwords = ["example", "placeholder", "changeme", "your", "dummy", "sample", "xxxx", "0123456789"]

# Hexadecimal digits have too little entropy for the rules above. Only the lengths of keys count, and
# no name that says it is a hash or names an object, and no SHA-256 of a path.
[[rules]]
id = "assigned-hex-key"
description = "a hexadecimal key assigned to a name that says it is secret"
regex = '''(?i)[a-z0-9_./\-]{0,40}(?:api_?key|access_?key|secret|auth_?token|access_?token|passwd|password|credential|private_?key)[a-z0-9_.\-]{0,20}["']?\]?(?:\s{0,3}:\s{0,3}[a-z][a-z0-9_.]{0,30})?\s{0,3}(?:=|:|:=|=>)\s{0,3}["'`]([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})["'`]'''
keywords = ["key", "secret", "token", "passw", "credential"]
entropy = 3
[[rules.allowlists]]
regexTarget = "match"
regexes = ['''(?i)[a-z0-9]/[a-z0-9_.\-]*["']?\s*[:=]\s*["'`][0-9a-f]{64}["'`]$''']

[[rules]]
id = "unquoted-hex-key"
description = "a hexadecimal key assigned to a name that says it is secret"
path = '''(?i)(?:^|/)(?:[^/]*\.(?:ya?ml|ini|conf|cfg|cnf|properties|toml|tfvars|sh|bash|zsh)|[^/]*\.?env(?:rc|\.[^/]*)?|\.[^/.]*rc)$'''
regex = '''(?im)^[ \t]{0,40}(?:- |export\s{1,3})?[a-z0-9_.\-]{0,40}(?:api_?key|access_?key|secret|auth_?token|access_?token|passwd|password|credential|private_?key)[a-z0-9_.\-]{0,20}[ \t]{0,3}[=:][ \t]{0,3}([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{48}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})[ \t]*\r?$'''
keywords = ["key", "secret", "token", "passw", "credential"]
entropy = 3

# A password has a letter, a digit and a sign. Hashed passwords, versions, addresses, templates,
# anchors and queries, which have them too, are allowed.
[[rules]]
id = "assigned-password"
description = "a password"
regex = '''(?i)[a-z0-9_.\-]{0,40}(?:passwd|password|passphrase|secret|credential)[a-z0-9_.\-]{0,20}["']?\]?(?:\s{0,3}:\s{0,3}[a-z][a-z0-9_.]{0,30})?\s{0,3}(?:=|:|:=|=>)\s{0,3}["'`]([a-z0-9_.+/=\-!@#$%^&*?~]{10,100})["'`]'''
keywords = ["secret", "passw", "passphrase", "credential"]
entropy = 3

[[rules]]
id = "unquoted-password"
description = "a password"
path = '''(?i)(?:^|/)(?:[^/]*\.(?:ya?ml|ini|conf|cfg|cnf|properties|toml|tfvars|sh|bash|zsh)|[^/]*\.?env(?:rc|\.[^/]*)?|\.[^/.]*rc)$'''
regex = '''(?im)^[ \t]{0,40}(?:- |export\s{1,3})?[a-z0-9_.\-]{0,40}(?:passwd|password|passphrase|secret|credential)[a-z0-9_.\-]{0,20}[ \t]{0,3}[=:][ \t]{0,3}([a-z0-9_.+/=\-!@#$%^&*?~]{10,100})[ \t]*\r?$'''
keywords = ["secret", "passw", "passphrase", "credential"]
entropy = 3

[[allowlists]]
targetRules = ["assigned-hex-key", "unquoted-hex-key"]
regexes = ['''^[0-9]+$''', '''(?i)^[a-f]+$''']
stopwords = ["0123456789"]

[[allowlists]]
targetRules = ["assigned-password", "unquoted-password"]
regexes = ['''^[^!@#$%^&~]*$''', '''^[^0-9]*$''', '''^[a-z0-9_]{3,20}\$[^$]*\$.{16}''', '''^[^A-Za-z]*$''', '''^[$#.%/~]''', '''^[A-Za-z0-9_.+\-]+@[A-Za-z0-9.\-]+\.[A-Za-z]{2,}$''', '''^(?:[A-Za-z0-9_./@\-]+@)?[\^~=]*v?[0-9]+\.[0-9]+[A-Za-z0-9_.+\-]*$''', '''/[A-Za-z0-9_.\-]+@(?:v[0-9]+|[0-9a-f]{40})$''', '''%[sdr0-9]''', '''[#?&][A-Za-z0-9_\-]+=''', '''[a-z]+=[^&]*&''', '''\$(?:[A-Z_]{3}|[a-z_]{3}|[a-z]{1,2}[A-Z][a-z]{2}|[A-Za-z]{2}[^A-Za-z0-9])''', '''^[a-z0-9_.\-/]+#[a-z0-9_\-]+$''']
stopwords = ["example", "placeholder", "changeme", "change_me", "change-me", "replace", "insert", "your", "dummy", "sample", "xxxx", "0123456789", "password", "passw0rd", "p@ssw", "secret", "test"]

[[allowlists]]
targetRules = ["assigned-password", "unquoted-password"]
regexTarget = "match"
regexes = ['''(?i)^[ \t]*(?:- |export\s+)?[a-z0-9_./\-]*(?:name|path|file|dir|url|uri|route|label|hint|text|title|message)["'\]]*\s*[=:]''']

[[allowlists]]
targetRules = ["assigned-hex-key", "unquoted-hex-key", "assigned-password", "unquoted-password"]
regexTarget = "match"
regexes = ['''(?i)^[ \t]*(?:- |export\s+)?[a-z0-9_./\-]*(?:hash|digest|checksum|fingerprint|md5|commit|etag|uuid|(?:sha[0-9]*|[_.\-](?:rev|oid|id|version)|(?-i:[a-z0-9](?:I[dD]|Rev|Version)))["'\]]*\s*[=:])''']
)TOML";

}  // namespace galley
