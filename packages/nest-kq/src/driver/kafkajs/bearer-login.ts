/**
 * Login by SASL/OAUTHBEARER. kafkajs' own implementation doesn't read the broker's response: it takes a refused token for an
 * accepted one, and the closed connection for an unreachable broker.
 */
import kafkajs from 'kafkajs';
import type { KafkaConfig } from 'kafkajs';
import { tokenOf, type SaslToken } from '../sasl-token.js';
import type { SaslOptions } from '../client-options.js';

/** Returns `sasl` in the form kafkajs takes. */
export function kafkajsSasl(sasl: SaslOptions | undefined): KafkaConfig['sasl'] {
  if (sasl?.mechanism !== 'oauthbearer') return sasl;
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ saslAuthenticate }) => ({
      authenticate: async () => {
        const token = await tokenOf(sasl.token);
        const say = async (message: string) =>
          String(await saslAuthenticate({ request: { encode: () => sized(message) }, response: ANSWER }));
        try {
          const refusal = await say(firstMessage(token));
          // A refused client has to send one more message before the broker gives the reason.
          if (refusal !== '')
            throw new Refused(`the broker rejected the token: ${(await say(SEPARATOR)) || refusal}`);
        } catch (thrown) {
          if (!(thrown instanceof kafkajs.KafkaJSProtocolError)) throw thrown;
          throw new Refused(`the broker rejected the token: ${thrown.message}`);
        }
      },
    }),
  };
}

/** Its types omit a parameter that it takes. */
const Refused = kafkajs.KafkaJSSASLAuthenticationError as new (message: string) => Error;

const SEPARATOR = '\u0001';
const SIZE_BYTES = 4;

/** Empty if the broker accepts the token. */
const ANSWER = {
  decode: (bytes: Buffer) => bytes.subarray(SIZE_BYTES),
  parse: (bytes: Buffer) => bytes.toString(),
};

/** RFC 7628. */
function firstMessage({ value, extensions = {} }: SaslToken): string {
  const pairs = Object.entries(extensions).map(([name, each]) => `${name}=${each}`);
  return ['n,,', `auth=Bearer ${value}`, ...pairs, '', ''].join(SEPARATOR);
}

function sized(message: string): Buffer {
  const bytes = Buffer.from(message);
  const size = Buffer.alloc(SIZE_BYTES);
  size.writeInt32BE(bytes.length);
  return Buffer.concat([size, bytes]);
}
