import { describe, expect, it } from '@jest/globals';
import { CERTIFICATE, ENCRYPTED_KEY, KEY, OTHER_KEY } from '../../spec-support/certificate.js';
import { resolveTls, type TlsOptions } from './tls-option.js';

const resolve = (tls: unknown) => resolveTls(tls as TlsOptions | undefined);
const pair = { cert: CERTIFICATE, key: KEY };

describe('the option tls', () => {
  it.each<[string, TlsOptions | undefined]>([
    ['nothing', undefined],
    ['one authority', { ca: CERTIFICATE }],
    ['several, as texts and bytes', { ca: [CERTIFICATE, Buffer.from(CERTIFICATE)] }],
    ['several in one text', { ca: `of the shop\n${CERTIFICATE}${CERTIFICATE}` }],
    ['a client certificate', pair],
    ['one with those between it and its authority', { cert: CERTIFICATE + CERTIFICATE, key: KEY }],
    ['an encrypted key', { cert: CERTIFICATE, key: Buffer.from(ENCRYPTED_KEY), passphrase: 'sesame' }],
  ])('takes %s', (_, tls) => {
    expect(resolve(tls).context).toBeDefined();
  });

  it('has the name that a certificate must be for', () => {
    expect(resolve({ servername: 'beanstalkd.internal' }).servername).toBe('beanstalkd.internal');
    expect(resolve({}).servername).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['`tls` is null: expected { ca, cert, key, passphrase, servername }', null],
    ['`tls` is a boolean: expected { ca', true],
    [
      'unknown option `tls.rejectUnauthorized`: expected one of ca, cert, key, passphrase,',
      { rejectUnauthorized: false },
    ],
    [
      "`tls.ca` contains no certificate: expected a PEM string or its bytes, such as readFileSync('ca.pem')",
      { ca: './ca.pem' },
    ],
    ['`tls.ca` is an empty array: expected at least one certificate', { ca: [] }],
    ['`tls.ca[1]` contains no certificate', { ca: [CERTIFICATE, KEY] }],
    ['certificate 2 of `tls.ca` cannot be read: ', { ca: CERTIFICATE + CERTIFICATE.replace('MII', 'MIX') }],
    ['`tls.ca` is a number: expected a PEM string', { ca: 7 }],
    ['`tls.cert` is set without `tls.key`: expected both or neither', { cert: CERTIFICATE }],
    ['`tls.key` is set without `tls.cert`: expected both or neither', { key: KEY }],
    ['`tls.cert` contains no certificate', { cert: KEY, key: KEY }],
    ['`tls.key` is not a private key: expected a PEM string', { cert: CERTIFICATE, key: CERTIFICATE }],
    ['`tls.key` is null: expected a PEM string', { cert: CERTIFICATE, key: null }],
    ['`tls.key` does not belong to `tls.cert`', { cert: CERTIFICATE, key: OTHER_KEY }],
    ['`tls.key` is encrypted: expected `tls.passphrase` as well', { cert: CERTIFICATE, key: ENCRYPTED_KEY }],
    ['`tls.passphrase` does not decrypt it', { cert: CERTIFICATE, key: ENCRYPTED_KEY, passphrase: 'x' }],
    ['`tls.passphrase` is a number: expected a string', { ...pair, passphrase: 7 }],
    ['`tls.passphrase` is set without `tls.key`', { passphrase: 'x' }],
    ['`tls.servername` is "10.0.0.1": expected a host name', { servername: '10.0.0.1' }],
    ['`tls.servername` is "": expected a host name', { servername: '' }],
  ])('refuses with: %s', (message, tls) => {
    expect(() => resolve(tls)).toThrow(
      expect.objectContaining({ code: 'DQ_CONFIG', message: expect.stringContaining(message) }),
    );
  });

  it('never shows a key or its passphrase', () => {
    const secrets = KEY.split('\n').slice(1, 3);
    for (const tls of [
      { ca: KEY },
      { cert: KEY, key: KEY },
      { key: KEY },
      { cert: CERTIFICATE, key: `${KEY}x`.slice(9) },
    ]) {
      const refuse = () => resolve({ ...tls, passphrase: 'sesame' });
      expect(refuse).toThrow(/./);
      for (const secret of [...secrets, 'sesame'])
        expect(refuse).toThrow(expect.objectContaining({ message: expect.not.stringContaining(secret) }));
    }
  });
});
