import { describe, expect, it } from '@jest/globals';
import { connectionFailure } from './connection-failure.js';

const failed = (code: string, more: object = {}) =>
  connectionFailure(Object.assign(new Error('as a library says it'), { code, ...more })).message;

describe('connectionFailure', () => {
  it.each([
    ['CERT_HAS_EXPIRED', 'certificate has expired'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'untrusted authority'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'untrusted authority'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'does not speak TLS'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'requires a client certificate'],
    // OpenSSL 3.0 and 3.5
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'does not trust the authority of our client certificate'],
    ['ERR_SSL_SSL/TLS_ALERT_UNKNOWN_CA', 'does not trust the authority of our client certificate'],
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'our client certificate has expired'],
    ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', 'rejects our client certificate'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'an older or newer TLS'],
  ])('says what %s means, and the code', (code, meaning) => {
    expect(failed(code)).toContain(meaning);
    expect(failed(code)).toContain(`(${code})`);
  });

  it('says for which name a certificate is', () => {
    const reason = "Host: a. is not in the cert's altnames: DNS:b";
    expect(failed('ERR_TLS_CERT_ALTNAME_INVALID', { reason })).toBe(
      `the server's certificate is for a different name (ERR_TLS_CERT_ALTNAME_INVALID): ${reason}`,
    );
  });

  it.each([
    'Protocol error, got "U" as reply type byte. Please report this.', // ioredis 5
    'Unknown RESP type 85 "U". Please report this.', // ioredis 6
  ])('says that a server is no Redis: %s', (words) => {
    const cause = new Error(words);
    expect(connectionFailure(cause)).toMatchObject({
      message: 'not a Redis: its reply begins with "U", like that of beanstalkd or another server',
      cause,
    });
  });

  it('leaves other errors as they are, and adds a message to those that have none', () => {
    const refused = new Error('connect ECONNREFUSED');
    expect(connectionFailure(refused)).toBe(refused);
    expect(connectionFailure(new AggregateError([refused], '')).message).toBe('connect ECONNREFUSED');
  });
});
