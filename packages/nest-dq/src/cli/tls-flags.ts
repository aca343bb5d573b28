import type { Arguments, Flags } from 'nest-handlers/cli';
import type { TlsOptions } from '../nest/tls-option.js';
import { readFlagFile } from './flag-file.js';
import { givenText } from './given-text.js';

/** For commands that go to nodes over TLS. A flag would show a passphrase to others, so that one stands in the file alone. */
export const TLS_FLAGS: Flags = {
  'tls-ca': {
    value: 'FILE',
    help: 'for tls:// nodes: the authorities that are trusted, in PEM (or DQ_TLS_CA)',
  },
  'tls-cert': { value: 'FILE', help: 'the client certificate (or DQ_TLS_CERT)' },
  'tls-key': { value: 'FILE', help: 'its key (or DQ_TLS_KEY)' },
  'tls-servername': {
    value: 'NAME',
    help: 'the name in their certificates, if it is not the host (or DQ_TLS_SERVERNAME)',
  },
};

/** The option `tls`, each field from its flag, the environment or the file. Undefined: nothing is given. */
export function givenTls(args: Arguments, inFile: TlsOptions | undefined): TlsOptions | undefined {
  const servername = givenText(args, 'tls-servername', 'the name of a host');
  const given = {
    ...content(args, 'ca'),
    ...content(args, 'cert'),
    ...content(args, 'key'),
    ...(servername !== undefined && { servername }),
  };
  return Object.keys(given).length === 0 ? inFile : { ...inFile, ...given };
}

function content(args: Arguments, field: 'ca' | 'cert' | 'key'): TlsOptions {
  const path = givenText(args, `tls-${field}`, 'the path of a file in PEM');
  return path === undefined ? {} : { [field]: readFlagFile(args, `tls-${field}`, path) };
}
