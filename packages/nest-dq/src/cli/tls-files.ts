import type { Arguments, Flags } from 'nest-handlers/cli';
import type { TlsCertificates } from '../embedded/tls.js';
import { readFlagFile } from './flag-file.js';

export const TLS_FLAGS: Flags = {
  'tls-cert': {
    value: 'FILE',
    help: 'speaks TLS with this certificate, and those between it and its authority behind it, in PEM;\nSIGHUP: reads the files again',
  },
  'tls-key': { value: 'FILE', help: 'its private key, in PEM, without a passphrase' },
  'client-ca': {
    value: 'FILE',
    help: 'lets in only clients with a certificate of this authority, in PEM (default: all clients)',
  },
};

/** The files that an operator has named. */
export class TlsFiles {
  private constructor(
    private readonly args: Arguments,
    private readonly cert: string,
    private readonly key: string,
    private readonly clientCa: string | undefined,
  ) {}

  /** Undefined: none were named. */
  static of(args: Arguments): TlsFiles | undefined {
    const file = (flag: string) => args.text(flag, 'the path of a file');
    const [cert, key, clientCa] = [file('tls-cert'), file('tls-key'), file('client-ca')];
    if (cert !== undefined && key !== undefined) return new TlsFiles(args, cert, key, clientCa);
    if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
    throw args.wrong('TLS needs both --tls-cert and --tls-key, and then --client-ca if you like.');
  }

  /** What they have now. `WrongArguments` where one cannot be read. */
  read(): TlsCertificates {
    const read = (flag: string, path: string) => readFlagFile(this.args, flag, path);
    return {
      cert: read('tls-cert', this.cert),
      key: read('tls-key', this.key),
      ...(this.clientCa !== undefined && { clientCa: read('client-ca', this.clientCa) }),
    };
  }
}
