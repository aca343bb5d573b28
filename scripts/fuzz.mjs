// The properties of all parsers, for longer than `npm test` has them: see CONTRIBUTING.md.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    path: { type: 'string' },
  },
});
for (const name of ['minutes', 'seed']) {
  const value = Number(values[name]);
  if (!(value > 0))
    throw new Error(`--${name} is ${JSON.stringify(values[name])}: expected a number greater than 0`);
}
console.log(`Running each property for ${values.minutes} min with seed ${values.seed}.`);
const { status } = spawnSync(
  process.execPath,
  [fileURLToPath(new URL('./jest.mjs', import.meta.url)), `/fuzz/${values.only}`],
  {
    cwd: fileURLToPath(new URL('../test', import.meta.url)),
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_MINUTES: values.minutes,
      FUZZ_SEED: values.seed,
      ...(values.path !== undefined && { FUZZ_PATH: values.path }),
    },
  },
);
process.exitCode = status ?? 1;
