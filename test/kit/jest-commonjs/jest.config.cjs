// A CommonJS project's Jest, as docs/testing.md says, with fake timers on from before anything is loaded.
module.exports = {
  testMatch: ['**/*.test.cts'],
  moduleFileExtensions: ['cts', 'ts', 'js', 'cjs', 'json'],
  setupFiles: ['reflect-metadata'],
  fakeTimers: { enableGlobally: true },
  testTimeout: 60_000, // it compiles Nest first, perhaps on a busy machine
  transform: {
    '^.+\\.(cts|[tj]s)$': [
      '@swc/jest',
      {
        swcrc: false,
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  // Nest has no CommonJS from 12 on. The packages have, and are not below node_modules here: links lead to them.
  transformIgnorePatterns: ['/node_modules/(?!@nestjs/)', '/packages/[^/]+/dist/'],
};
