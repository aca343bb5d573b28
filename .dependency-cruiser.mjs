// Which folder of a library may import which, and which packages; and what holds for all workspaces. `npm run lint` checks it.
// Type imports count. Specs next to the code of packages are not read: they may import what they test and its helpers.

const BASICS = ['errors', 'connection-failure', 'time'];
const LOWER = [
  ...BASICS,
  'api',
  'beanstalk',
  'beanstalk/codec',
  'seal',
  'cluster',
  'copies',
  'copies/location',
  'events',
  'ledger',
  'fleet',
];

/** A folder of nest-dq, or a file without `.ts`, and which others it may import. What lies in no entry may import nothing. */
const NEST_DQ = {
  errors: [],
  'connection-failure': ['errors'],
  pem: ['errors'],
  time: ['errors'],
  api: [...BASICS, 'beanstalk/codec'],
  // The embedded node may know the words of the protocol, but not the client.
  'beanstalk/codec': ['errors'],
  beanstalk: ['errors', 'connection-failure', 'time', 'beanstalk/codec'],
  disk: ['errors', 'time'],
  // The list of what waits there is one of the ledger, and reads copies.
  embedded: [
    ...BASICS,
    'pem',
    'beanstalk/codec',
    'disk',
    'api',
    'copies',
    'copies/location',
    'ledger',
    'ledger/memory',
  ],
  'copies/location': ['errors'],
  seal: BASICS,
  cluster: [...BASICS, 'copies/location', 'seal', 'beanstalk', 'beanstalk/codec'],
  ledger: [...BASICS, 'api', 'copies/location'],
  'ledger/memory': [...BASICS, 'disk', 'ledger'],
  'ledger/redis': [...BASICS, 'copies/location', 'ledger', 'ledger/lease-thread'],
  'ledger/lease-thread': [...BASICS, 'api', 'ledger', 'ledger/redis'],
  copies: [
    ...BASICS,
    'api',
    'copies/location',
    'seal',
    'beanstalk',
    'beanstalk/codec',
    'cluster',
    'ledger',
    'go-queue/go-queue-format',
  ],
  'go-queue/go-queue-format': [...BASICS, 'api', 'beanstalk', 'copies', 'copies/location', 'ledger'],
  // Besides its format, which `copies` reads, only those that assemble a cluster know it.
  'go-queue': [...LOWER, 'go-queue/go-queue-format', 'ledger/redis', 'producer', 'consumer'],
  // Shared knowledge of the processes about each other.
  fleet: [...BASICS, 'api', 'events', 'cluster', 'disk', 'ledger', 'ledger/memory', 'ledger/redis'],
  events: [...BASICS, 'api'],
  producer: LOWER,
  consumer: LOWER,
  health: ['cluster'],
  operate: [...LOWER, 'health', 'producer', 'recurring'],
  // Background duties of a process.
  upkeep: [...LOWER, 'producer', 'consumer', 'operate'],
  recurring: [...BASICS, 'api', 'events', 'copies', 'ledger', 'fleet', 'producer', 'consumer'],
  // Its own entry: only those who have OpenTelemetry load it.
  telemetry: ['errors', 'api', 'events', 'consumer'],
  nest: [
    ...LOWER,
    'pem',
    'go-queue',
    'ledger/memory',
    'ledger/redis',
    'ledger/lease-thread',
    'disk',
    'embedded',
    'producer',
    'consumer',
    'health',
    'operate',
    'upkeep',
    'recurring',
  ],
  // The program `nest-dq`.
  cli: [...LOWER, 'ledger/redis', 'embedded', 'producer', 'nest', 'operate', 'dashboard'],
  // Its own entry: the dashboard's server. The page in the browser is bundled, and lies outside.
  dashboard: [...LOWER, 'producer', 'health', 'operate', 'nest'],
  // Its own entry: jobs in the user's own database. It knows no database's library.
  outbox: [...BASICS, 'api', 'producer', 'nest'],
  // Its own entry, for tests: an application whose servers and clock are replaced.
  'test-kit': [...LOWER, 'go-queue', 'ledger/memory', 'embedded', 'producer', 'consumer', 'operate', 'nest'],
  index: [...LOWER, 'producer', 'consumer', 'health', 'recurring', 'operate', 'nest'],
  'operate-entry': [...LOWER, 'producer', 'health', 'operate'],
  'go-queue-entry': ['api', 'nest'],
};

/** The same for nest-kq. */
const NEST_KQ = {
  errors: [],
  api: ['errors'],
  // The interface of a log's client, and what all of them decide alike.
  driver: ['errors', 'api'],
  'driver/memory': ['errors', 'api', 'driver'],
  'driver/kafkajs': ['errors', 'api', 'driver'],
  // Its own entry.
  'driver/confluent': ['errors', 'driver'],
  // The port to nest-dq.
  delays: ['errors', 'api', 'driver'],
  events: ['errors', 'api', 'driver'],
  pusher: ['errors', 'api', 'driver', 'delays', 'events', 'consumer', 'failures'],
  consumer: ['errors', 'driver'],
  failures: ['errors', 'api', 'driver', 'delays', 'events', 'consumer'],
  health: ['errors', 'api', 'driver', 'consumer'],
  groups: ['errors', 'api', 'driver', 'health'],
  'dead-letters': ['errors', 'api', 'driver', 'failures'],
  // Its own entry: only those who have OpenTelemetry load it.
  telemetry: ['errors', 'api', 'events', 'failures'],
  // Its own entry: formats by a schema registry.
  registry: ['errors', 'api'],
  // Its own entry: the joint of the two packages.
  dq: ['errors', 'api', 'driver', 'delays', 'nest'],
  nest: [
    'errors',
    'api',
    'driver',
    'driver/memory',
    'driver/kafkajs',
    'delays',
    'events',
    'pusher',
    'consumer',
    'failures',
    'health',
    'groups',
    'dead-letters',
  ],
  // The program `nest-kq`.
  cli: ['errors', 'api', 'driver', 'dead-letters', 'nest'],
  // Its own entry, for tests: an application whose log and clock are replaced.
  'test-kit': ['errors', 'api', 'driver', 'driver/memory', 'events', 'pusher', 'nest'],
  index: [
    'errors',
    'api',
    'driver',
    'events',
    'pusher',
    'consumer',
    'failures',
    'health',
    'groups',
    'dead-letters',
    'nest',
  ],
};

/** Modules of the entry `nest-handlers/context`. */
const OF_CONTEXT = '(?:batch-results|context)';
/** Modules of the entry `nest-handlers/events`. */
const OF_EVENTS = '(?:events|event-hub|guarded-observable|hooks)';
/** Modules of the entry `nest-handlers/log`. */
const OF_LOG = '(?:escaped|log|log-levels|log-lines|secrets)';
/** Modules of the entry `nest-handlers/schema`. */
const OF_SCHEMA = '(?:json|schema)';
/** All files of nest-handlers but those of its other entries. */
const OF_NEST = `(?!cli|${OF_CONTEXT}|crc32c|${OF_SCHEMA}|time|testing|${OF_EVENTS}|${OF_LOG})[a-z-]+`;

/** The same for nest-handlers. Most of the libraries loads its other entries, and so nothing of Nest with them. */
const NEST_HANDLERS = {
  cli: ['time', OF_LOG],
  [OF_CONTEXT]: [],
  crc32c: [],
  [OF_SCHEMA]: [],
  time: ['context'],
  testing: ['context', 'time'],
  [OF_EVENTS]: ['context'],
  [OF_LOG]: [],
  [OF_NEST]: ['context', OF_LOG],
};

const PACKAGES = { 'nest-handlers': NEST_HANDLERS, 'nest-dq': NEST_DQ, 'nest-kq': NEST_KQ };

/** Who may use a package at run time; of nest-handlers, which of its entries. Everybody may use the modules of Node. */
const MAY_USE = {
  'nest-handlers': {
    '@nestjs/common': [OF_NEST],
    '@nestjs/core': [OF_NEST],
    rxjs: [OF_EVENTS, OF_NEST],
    ms: ['time'],
  },
  'nest-dq': {
    'nest-handlers/dist/index.js': ['nest'],
    'nest-handlers/dist/context.js': Object.keys(NEST_DQ),
    'nest-handlers/dist/cli.js': ['cli'],
    'nest-handlers/dist/crc32c.js': ['disk'],
    'nest-handlers/dist/events.js': ['events'],
    'nest-handlers/dist/log.js': ['errors', 'cli', 'nest'],
    'nest-handlers/dist/schema.js': ['api', 'copies', 'producer', 'consumer', 'recurring'],
    'nest-handlers/dist/time.js': Object.keys(NEST_DQ),
    'nest-handlers/dist/testing.js': ['test-kit'],
    ulid: ['producer', 'operate'],
    ioredis: ['ledger/redis', 'ledger/lease-thread', 'go-queue'],
    '@nestjs/common': ['nest', 'dashboard', 'outbox'],
    '@nestjs/core': ['dashboard', 'cli'],
    '@nestjs/platform-express': ['cli'],
    '@nestjs/platform-fastify': ['cli'],
    '@opentelemetry/api': ['telemetry'],
    croner: ['recurring'],
    'classic-level': ['disk'],
  },
  'nest-kq': {
    'nest-handlers/dist/index.js': ['nest'],
    'nest-handlers/dist/context.js': Object.keys(NEST_KQ),
    'nest-handlers/dist/cli.js': ['cli'],
    'nest-handlers/dist/crc32c.js': ['driver/kafkajs'],
    'nest-handlers/dist/events.js': ['events'],
    'nest-handlers/dist/log.js': ['api', 'nest', 'registry', 'cli'],
    'nest-handlers/dist/schema.js': ['api', 'pusher'],
    'nest-handlers/dist/time.js': Object.keys(NEST_KQ),
    'nest-handlers/dist/testing.js': ['test-kit'],
    '@nestjs/common': ['nest', 'dq'],
    'nest-dq/dist/index.js': ['dq'],
    kafkajs: ['driver/kafkajs'],
    '@opentelemetry/api': ['telemetry'],
  },
};

const sourceOf = (name) => `packages/${name}/src`;

/** The files of an entry, without those that another entry inside it has. */
function filesOf(name, room) {
  const inner = Object.keys(PACKAGES[name])
    .filter((other) => other.startsWith(`${room}/`))
    .map((other) => `${other.slice(room.length + 1)}(?:/|[.]ts$)`);
  const others = inner.length > 0 ? `(?!${inner.join('|')})` : '';
  return `^${sourceOf(name)}/${room}(?:/${others}|[.]ts$)`;
}

const allFilesOf = (name, rooms) => rooms.map((room) => filesOf(name, room));
const modulesOf = (dependency) => `(?:^|/)node_modules/(?:@types/)?${dependency}(?:/|$)`;

function rulesOf(name) {
  const rooms = PACKAGES[name];
  return [
    {
      name: `${name}-room-without-rules`,
      comment: `Give the new folder an entry in ${name}'s table.`,
      severity: 'error',
      from: { path: `^${sourceOf(name)}/`, pathNot: allFilesOf(name, Object.keys(rooms)) },
      to: {},
    },
    ...Object.entries(rooms).map(([room, others]) => ({
      name: `${name}/${room}-may-import`,
      comment: others.length > 0 ? `only ${others.join(', ')}` : 'nothing',
      severity: 'error',
      from: { path: filesOf(name, room) },
      to: { path: '^packages/', pathNot: allFilesOf(name, [room, ...others]) },
    })),
    ...Object.entries(MAY_USE[name]).map(([dependency, users]) => ({
      name: `${dependency}-is-for`,
      comment: `of ${name}, only ${users.join(', ')}`,
      severity: 'error',
      from: { path: `^${sourceOf(name)}/`, pathNot: allFilesOf(name, users) },
      to: { path: modulesOf(dependency), dependencyTypesNot: ['type-only'] },
    })),
    {
      name: `${name}-package-without-rules`,
      comment: 'Give the new package an entry in MAY_USE.',
      severity: 'error',
      from: { path: `^${sourceOf(name)}/` },
      to: {
        path: '(?:^|/)node_modules/',
        pathNot: Object.keys(MAY_USE[name]).map(modulesOf),
        dependencyTypesNot: ['type-only'],
      },
    },
  ];
}

const WORKSPACES = 'packages/[^/]+|bench|examples|faults|demo|sample-app|test/servers';
/** Names of what no entry of a package exports. Only test/tsconfig.json and Jest's configuration resolve them. */
const INSIDE = '^nest-[dk]q/(?:src|spec-support)/';
/**
 * Allowed to use them: tests of parts that no entry exports, or that need such a part, such as a Kafka client or a stored copy. All other
 * tests, and all other workspaces, see what users see.
 */
const LOOKS_INSIDE = [
  'cli/',
  'contract/',
  'dashboard/',
  'docs[.]spec',
  'e2e/',
  'failure/',
  'fuzz/',
  'go-queue/',
  'model/',
  'monitoring/',
  'moving/',
  'recipes/',
  'support/',
  'types/',
];

export default {
  forbidden: [
    {
      name: 'no-circle',
      comment: 'What is imported on demand may import what loads it: by then that is initialized.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['dynamic-import'] } },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: { pathNot: '^test/package/template/' }, // a spec writes the rest of this application
      to: { couldNotResolve: true, pathNot: INSIDE },
    },
    {
      name: 'spec-imported',
      comment: 'Move what both need into a file of its own.',
      severity: 'error',
      from: {},
      to: { path: '[.](?:spec|test|table)[.]c?ts$' },
    },
    {
      name: 'other-workspace-by-its-path',
      comment: 'A workspace imports another one by its name.',
      severity: 'error',
      from: { path: `^(${WORKSPACES})/` },
      to: { path: `^(?:${WORKSPACES}|test)/`, pathNot: '^$1/' },
    },
    {
      name: 'support-of-tests-may-import',
      comment: 'only support',
      severity: 'error',
      from: { path: '^test/support/' },
      to: { path: '^test/', pathNot: '^test/support/' },
    },
    {
      name: 'only-by-its-entries',
      comment: 'as applications do',
      severity: 'error',
      from: { pathNot: ['^packages/', `^test/(?:${LOOKS_INSIDE.join('|')})`] },
      to: { path: ['^packages/', INSIDE] },
    },
    {
      name: 'nest-kq/driver/kafkajs-is-loaded-where-it-is-used',
      comment: 'by import(): who has another driver does not load kafkajs',
      severity: 'error',
      from: { path: `^${sourceOf('nest-kq')}/`, pathNot: filesOf('nest-kq', 'driver/kafkajs') },
      to: { path: filesOf('nest-kq', 'driver/kafkajs'), dynamic: false },
    },
    ...Object.keys(PACKAGES).flatMap(rulesOf),
  ],
  options: {
    doNotFollow: { path: ['(?:^|/)(?:node_modules|dist)/', '^packages/.+[.]spec[.]ts$'] },
    skipAnalysisNotInRules: true,
    tsPreCompilationDeps: true,
    preserveSymlinks: true, // so that nest-handlers is a package of node_modules here, as in applications
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'default', 'types'],
      extensions: ['.js', '.ts', '.tsx'], // each costs a look at the disk for each import
    },
    tsConfig: { fileName: 'tsconfig.base.json' },
  },
};
