import { defineConfig } from 'vitest/config';

// As a user's project has it: the package as it is built, and nothing else set than what Nest needs.
export default defineConfig({
  test: { include: ['**/*.test.ts'], setupFiles: ['reflect-metadata'] },
});
