// npm run example -- NAME: starts the servers that the example needs, unless the environment names them, and then the example.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startPostgres } from 'test-servers';

interface Server {
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

async function postgres(): Promise<Server> {
  const server = await startPostgres();
  return { env: { DATABASE_URL: server.url }, stop: () => server.stop() };
}

/** The examples, the server that each needs in addition to the embedded node, and the variable that names one. */
const EXAMPLES: Record<string, { variable: string; start: () => Promise<Server> } | undefined> = {
  'unpaid-orders': { variable: 'DATABASE_URL', start: postgres },
  reminders: undefined,
};

async function run(name: string): Promise<number> {
  const needed = EXAMPLES[name];
  const server = needed && !process.env[needed.variable] ? await needed.start() : undefined;
  try {
    const main = fileURLToPath(new URL(`${name}/main.js`, import.meta.url));
    const example = spawn(process.execPath, ['--enable-source-maps', main], {
      cwd: fileURLToPath(new URL(`../${name}`, import.meta.url)),
      env: { ...process.env, ...server?.env },
      stdio: 'inherit',
    });
    // It ends itself in order; then its server ends, too.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => example.kill(signal));
    const [code] = (await once(example, 'exit')) as [number | null];
    return code ?? 0;
  } finally {
    await server?.stop();
  }
}

const [name = ''] = process.argv.slice(2);
if (name in EXAMPLES) {
  process.exitCode = await run(name);
} else {
  console.error(`Usage: npm run example -- ${Object.keys(EXAMPLES).join(' | ')}`);
  process.exitCode = 2;
}
