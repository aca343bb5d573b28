// Which folder of the library may import which, and which packages. `npm run lint` checks it: type imports count, specs do not.
const SRC = 'packages/nest-dq/src';

const BASICS = ['errors', 'time', 'structures'];
const LOWER = [
  ...BASICS,
  'api',
  'beanstalk',
  'beanstalk/codec',
  'cluster',
  'copies',
  'copies/location',
  'events',
  'ledger',
];

/** A folder, or a file without `.ts`, and which others it may import. What lies in no entry may import nothing. */
const MAY_IMPORT = {
  errors: [],
  structures: [],
  time: ['errors'],
  api: [...BASICS, 'beanstalk/codec'],
  // The embedded node may know the words of the protocol, but not the client.
  'beanstalk/codec': ['errors'],
  beanstalk: ['errors', 'time', 'beanstalk/codec'],
  disk: ['errors', 'time'],
  embedded: [...BASICS, 'beanstalk/codec', 'disk'],
  'copies/location': ['errors', 'structures'],
  cluster: [...BASICS, 'copies/location', 'beanstalk', 'beanstalk/codec'],
  ledger: [...BASICS, 'api', 'copies/location'],
  'ledger/rules': [...BASICS, 'copies/location', 'ledger'],
  'ledger/memory': [...BASICS, 'disk', 'ledger', 'ledger/rules'],
  'ledger/redis': [...BASICS, 'copies/location', 'ledger', 'ledger/rules', 'ledger/lease-thread'],
  'ledger/lease-thread': [...BASICS, 'api', 'ledger', 'ledger/redis'],
  copies: [...BASICS, 'api', 'copies/location', 'beanstalk', 'cluster', 'ledger'],
  events: [...BASICS, 'api'],
  producer: LOWER,
  consumer: LOWER,
  health: ['cluster'],
  operate: [...LOWER, 'producer', 'recurring'],
  recurring: [...BASICS, 'api', 'events', 'producer', 'consumer'],
  // Its own entry: only those who have OpenTelemetry load it.
  telemetry: ['errors', 'structures', 'api', 'events', 'consumer'],
  nest: [
    ...LOWER,
    'ledger/memory',
    'ledger/redis',
    'ledger/lease-thread',
    'disk',
    'embedded',
    'producer',
    'consumer',
    'health',
    'operate',
    'recurring',
  ],
  // The program `nest-dq`.
  cli: [...LOWER, 'ledger/redis', 'embedded', 'producer', 'nest', 'operate', 'dashboard'],
  // Its own entry: the dashboard's server. The page in the browser is bundled, and lies outside.
  dashboard: [...LOWER, 'producer', 'health', 'operate', 'nest'],
  // Its own entry, for tests: an application whose servers and clock are replaced.
  'test-kit': [...LOWER, 'ledger/memory', 'embedded', 'producer', 'consumer', 'operate', 'nest'],
  index: [...LOWER, 'producer', 'consumer', 'health', 'operate', 'recurring', 'nest'],
};

/** Who may use a package at run time. Everybody may use the modules of Node. */
const MAY_USE = {
  ms: ['time'],
  ulid: ['producer'],
  ioredis: ['ledger/redis', 'ledger/lease-thread'],
  '@nestjs/common': ['nest', 'dashboard'],
  '@nestjs/core': ['nest', 'dashboard', 'cli'],
  '@nestjs/platform-express': ['cli'],
  '@nestjs/platform-fastify': ['cli'],
  rxjs: ['nest', 'events'],
  '@opentelemetry/api': ['telemetry'],
  croner: ['recurring'],
  'classic-level': ['disk'],
};

/** The files of an entry, without those that another entry inside it has. */
function filesOf(room) {
  const inner = Object.keys(MAY_IMPORT)
    .filter((other) => other.startsWith(`${room}/`))
    .map((other) => `${other.slice(room.length + 1)}(?:/|[.]ts$)`);
  const others = inner.length > 0 ? `(?!${inner.join('|')})` : '';
  return `^${SRC}/${room}(?:/${others}|[.]ts$)`;
}

const allFilesOf = (rooms) => rooms.map(filesOf);
const packageOf = (name) => `(?:^|/)node_modules/(?:@types/)?${name}/`;

export default {
  forbidden: [
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'room-without-rules',
      comment: 'Give the new folder an entry in MAY_IMPORT.',
      severity: 'error',
      from: { path: `^${SRC}/`, pathNot: allFilesOf(Object.keys(MAY_IMPORT)) },
      to: {},
    },
    ...Object.entries(MAY_IMPORT).map(([room, others]) => ({
      name: `${room}-may-import`,
      comment: others.length > 0 ? `only ${others.join(', ')}` : 'nothing',
      severity: 'error',
      from: { path: filesOf(room) },
      to: { path: '^packages/', pathNot: allFilesOf([room, ...others]) },
    })),
    ...Object.entries(MAY_USE).map(([name, rooms]) => ({
      name: `${name}-is-for`,
      comment: `only ${rooms.join(', ')}`,
      severity: 'error',
      from: { pathNot: allFilesOf(rooms) },
      to: { path: packageOf(name), dependencyTypesNot: ['type-only'] },
    })),
    {
      name: 'package-without-rules',
      comment: 'Give the new package an entry in MAY_USE.',
      severity: 'error',
      from: {},
      to: {
        path: '(?:^|/)node_modules/',
        pathNot: Object.keys(MAY_USE).map(packageOf),
        dependencyTypesNot: ['type-only'],
      },
    },
  ],
  options: {
    exclude: { path: '[.]spec[.]ts$' },
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
  },
};
