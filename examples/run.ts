// npm run example -- NAME: starts the servers that the example needs, unless the environment names them, and then the example.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startKafka, startPostgres } from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

interface Server {
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

async function postgres(): Promise<Server> {
  const server = await startPostgres();
  return { env: { DATABASE_URL: server.url }, stop: () => server.stop() };
}

async function kafka(): Promise<Server> {
  const server = await startKafka();
  await createTopic([server.endpoint], { topic: 'events', numPartitions: 1 });
  return { env: { KAFKA_BROKERS: server.endpoint }, stop: () => server.stop() };
}

/** The examples, the server that each needs in addition to the embedded node, and the variable that names one. */
const EXAMPLES: Record<string, { variable: string; start: () => Promise<Server> } | undefined> = {
  'unpaid-orders': { variable: 'DATABASE_URL', start: postgres },
  reminders: undefined,
  'stream-retries': { variable: 'KAFKA_BROKERS', start: kafka },
};

/** With a server of its own it also has jobs of its own, since those of an earlier run belong to other rows and messages. */
async function run(name: string): Promise<number> {
  const needed = EXAMPLES[name];
  const server = needed && !process.env[needed.variable] ? await needed.start() : undefined;
  const folder = await mkdtemp(join(tmpdir(), 'example-'));
  try {
    const main = fileURLToPath(new URL(`${name}/main.js`, import.meta.url));
    const example = spawn(process.execPath, ['--enable-source-maps', main], {
      cwd: fileURLToPath(new URL(`../${name}`, import.meta.url)),
      env: { ...process.env, ...(server && { ...server.env, DATA_DIR: folder }) },
      stdio: 'inherit',
    });
    for (const signal of SIGNALS) process.on(signal, () => example.kill(signal));
    const [code, signal] = (await once(example, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? (SIGNALS.some((each) => each === signal) ? 0 : 1);
  } finally {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const [name = ''] = process.argv.slice(2);
if (name in EXAMPLES) {
  process.exitCode = await run(name);
} else {
  console.error(`Usage: npm run example -- ${Object.keys(EXAMPLES).join(' | ')}`);
  process.exitCode = 2;
}
