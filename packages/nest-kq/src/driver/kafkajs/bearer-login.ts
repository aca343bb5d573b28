/**
 * The login by SASL/OAUTHBEARER. kafkajs' own does not read what the broker answers, and so takes a refused token for an accepted
 * one, and the end of the connection for a broker that is away.
 */
import kafkajs from 'kafkajs';
import type { KafkaConfig } from 'kafkajs';
import { tokenOf, type SaslToken } from '../sasl-token.js';
import type { SaslOptions } from '../client-options.js';

/** `sasl` as kafkajs takes it. */
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
          // Whoever is refused has to say so once more, for the broker to tell why.
          if (refusal !== '')
            throw new Refused(`the broker refuses the token: ${(await say(SEPARATOR)) || refusal}`);
        } catch (thrown) {
          if (!(thrown instanceof kafkajs.KafkaJSProtocolError)) throw thrown;
          throw new Refused(`the broker refuses the token: ${thrown.message}`);
        }
      },
    }),
  };
}

/** Its types leave out what it takes. */
const Refused = kafkajs.KafkaJSSASLAuthenticationError as new (message: string) => Error;

const SEPARATOR = '\u0001';
const SIZE_BYTES = 4;

/** Empty: the broker has nothing against it. */
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
