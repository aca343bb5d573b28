import { fileURLToPath } from 'node:url';

const workspace = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');

/** The long specs of `faults` measure lateness, so they run in that folder, after all others. */
const NOT_CHOSEN = { quick: ['\\.long\\.spec\\.ts$'], long: ['<rootDir>/faults/'] };

/**
 * Settings that the tests of all workspaces share; `rootDir` comes from the command line. The environment variable TESTS chooses
 * `quick` (all but `*.long.spec.ts`) or `long` (only those). By default, all run.
 */
export default {
  testEnvironment: 'node',
  // One more than processors on two cores: a third of the time of tests with servers is waiting.
  maxWorkers: 3,
  workerIdleMemoryLimit: '300MB',
  testSequencer: fileURLToPath(new URL('./longest-first.mjs', import.meta.url)),
  // Only a safety net: no test depends on the machine's speed. Above the limit of `eventually`, whose error says what is missing.
  testTimeout: 60_000,
  testMatch: [process.env.TESTS === 'long' ? '<rootDir>/**/*.long.spec.ts' : '<rootDir>/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', ...(NOT_CHOSEN[process.env.TESTS] ?? [])],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^nest-handlers$': `${workspace}/packages/nest-handlers/src/index.ts`,
    '^nest-handlers/(cli|context|crc32c|events|log|schema|testing|time)$': `${workspace}/packages/nest-handlers/src/$1.ts`,
    '^nest-dq$': `${workspace}/packages/nest-dq/src/index.ts`,
    '^nest-dq/(operate|go-queue)$': `${workspace}/packages/nest-dq/src/$1-entry.ts`,
    '^nest-dq/dashboard$': `${workspace}/packages/nest-dq/src/dashboard/dashboard-module.ts`,
    '^nest-dq/testing$': `${workspace}/packages/nest-dq/src/test-kit/dq-test-kit.ts`,
    '^nest-dq/embedded$': `${workspace}/packages/nest-dq/src/embedded/embedded-node.ts`,
    '^nest-dq/outbox$': `${workspace}/packages/nest-dq/src/outbox/outbox-module.ts`,
    '^nest-dq/opentelemetry$': `${workspace}/packages/nest-dq/src/telemetry/opentelemetry.ts`,
    '^nest-dq/(src|spec-support)/(.*)\\.js$': `${workspace}/packages/nest-dq/$1/$2.ts`,
    '^nest-kq$': `${workspace}/packages/nest-kq/src/index.ts`,
    '^nest-kq/dq$': `${workspace}/packages/nest-kq/src/dq/kq-dq-module.ts`,
    '^nest-kq/testing$': `${workspace}/packages/nest-kq/src/test-kit/kq-test-kit.ts`,
    '^nest-kq/registry$': `${workspace}/packages/nest-kq/src/registry/schema-registry.ts`,
    '^nest-kq/opentelemetry$': `${workspace}/packages/nest-kq/src/telemetry/opentelemetry.ts`,
    '^nest-kq/src/(.*)\\.js$': `${workspace}/packages/nest-kq/src/$1.ts`,
    '^test-servers$': `${workspace}/test/servers/src/index.ts`,
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  setupFiles: ['reflect-metadata'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
  coverageProvider: 'v8',
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts'],
};
