import { inWords, show } from './errors.js';

/** Codes of Node and OpenSSL, whose versions write them differently, and what they mean. */
const TLS_FAILURES: readonly [code: RegExp, meaning: string][] = [
  [/^CERT_HAS_EXPIRED$/, "the server's certificate has expired"],
  [/^CERT_NOT_YET_VALID$/, "the server's certificate is not valid yet according to this machine's clock"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "the server's certificate is for a different name"],
  [
    /^(UNABLE_TO_(GET_ISSUER_CERT(_LOCALLY)?|VERIFY_LEAF_SIGNATURE)|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_UNTRUSTED)$/,
    "the server's certificate is from an untrusted authority",
  ],
  [/_WRONG_VERSION_NUMBER$|_PACKET_LENGTH_TOO_LONG$/, 'the server does not speak TLS'],
  [/_ALERT_CERTIFICATE_REQUIRED$/, 'the server requires a client certificate'],
  [/_ALERT_HANDSHAKE_FAILURE$/, 'the server requires a client certificate or other ciphers'],
  [/_ALERT_UNKNOWN_CA$/, 'the server does not trust the authority of our client certificate'],
  [/_ALERT_CERTIFICATE_EXPIRED$/, 'our client certificate has expired'],
  [
    /_ALERT_(BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_REVOKED|UNSUPPORTED_CERTIFICATE)$/,
    'the server rejects our client certificate',
  ],
  [
    /_ALERT_PROTOCOL_VERSION$|_UNSUPPORTED_PROTOCOL$/,
    'the server supports only an older or newer TLS version',
  ],
];

/** An error of a socket, in words for people: those of TLS are codes of libraries, and some have no words at all. */
export function connectionFailure(error: Error): Error {
  // The words of ioredis 5 and 6 for an answer that is none of Redis. `redis` and `beanstalks` may have been swapped.
  const [, first] = /^(?:Protocol error, got|Unknown RESP type \d+) "(.)"/.exec(error.message) ?? [];
  if (first !== undefined)
    return new Error(
      `not a Redis: its reply begins with ${show(first)}, like that of beanstalkd or another server`,
      { cause: error },
    );
  const { code, reason } = error as { code?: unknown; reason?: unknown };
  const [, meaning] = TLS_FAILURES.find(([pattern]) => typeof code === 'string' && pattern.test(code)) ?? [];
  if (meaning === undefined) return inWords(error);
  const more = code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? `: ${String(reason)}` : '';
  return new Error(`${meaning} (${String(code)})${more}`, { cause: error });
}
