import type { Flags, Topic } from 'nest-handlers/cli';

/** For commands that connect to brokers. */
export const CONNECTION_FLAGS: Flags = {
  brokers: { value: 'LIST', help: 'some brokers, comma-separated host:port (or KQ_BROKERS)' },
  ssl: { help: 'connect over TLS' },
  'sasl-mechanism': { value: 'NAME', help: 'plain, scram-sha-256 or scram-sha-512 (or KQ_SASL_MECHANISM)' },
  'sasl-username': {
    value: 'NAME',
    help: 'user name (or KQ_SASL_USERNAME); the password is read from KQ_SASL_PASSWORD',
  },
  config: {
    value: 'FILE',
    help: "JSON file with the application's options (default nest-kq.json, if present)",
  },
};

/** Output of `nest-kq help connection`. */
export const CONNECTION: Topic = {
  summary: 'which brokers',
  about: 'Which brokers a command connects to. Flags override the environment, which overrides the file.',
  flags: CONNECTION_FLAGS,
};
