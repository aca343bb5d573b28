import type { Flags, Topic } from 'nest-handlers/cli';

/** For commands that connect to nodes over TLS. A flag would expose a passphrase, so it is only read from the config file. */
const TLS_FLAGS: Flags = {
  'tls-ca': {
    value: 'FILE',
    help: 'trusted authorities for tls:// nodes, in PEM (or DQ_TLS_CA)',
  },
  'tls-cert': { value: 'FILE', help: 'client certificate (or DQ_TLS_CERT)' },
  'tls-key': { value: 'FILE', help: 'private key of the client certificate (or DQ_TLS_KEY)' },
  'tls-servername': {
    value: 'NAME',
    help: "name in the nodes' certificates, if different from the host (or DQ_TLS_SERVERNAME)",
  },
};

/** For commands that connect to a cluster. */
export const CONNECTION_FLAGS: Flags = {
  context: {
    value: 'NAME',
    help: 'a context of ~/.config/nest-dq/contexts.json (or DQ_CONTEXT); replaces the environment and --config',
  },
  beanstalks: {
    value: 'LIST',
    help: 'nodes, comma-separated: host:port, tls://host:port or unix:/path (or DQ_BEANSTALKS)',
  },
  redis: { value: 'URL', help: 'redis://… or rediss://… (or DQ_REDIS)' },
  prefix: { value: 'PREFIX', help: "the application's `prefix` (or DQ_PREFIX)" },
  config: {
    value: 'FILE',
    help: "JSON file with the application's options (default nest-dq.json, if present)",
  },
  ...TLS_FLAGS,
};

/** Output of `nest-dq help connection`. */
export const CONNECTION: Topic = {
  summary: 'which servers',
  about:
    'Which servers a command connects to. Flags override a context; without a context, they override the environment,\n' +
    'which overrides the file. A context is an entry of ~/.config/nest-dq/contexts.json (XDG_CONFIG_HOME), with the\n' +
    'options of a config file. It has no secrets, only references to variables of the environment:\n\n' +
    '  { "prod": { "beanstalks": ["10.0.0.1:11300"], "redis": "redis://:${PROD_REDIS_PASSWORD}@10.0.0.9", "prefix": "shop." } }',
  flags: CONNECTION_FLAGS,
};
