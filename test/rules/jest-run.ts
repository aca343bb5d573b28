import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChangingOptions } from './changing-transform.js';
import { namePattern, type Mutant, type NamedTest } from './rule.js';

/** The result of one test, or of one row of its table. */
export interface TestResult {
  /** The path from the root of the repository. */
  readonly spec: string;
  readonly fullName: string;
  /** `pending`: this run did not name the test. */
  readonly status: 'passed' | 'failed' | 'pending';
  readonly failureMessages: readonly string[];
}

export interface RunResult {
  readonly tests: readonly TestResult[];
  /** Why spec files cannot run at all, by their paths from the root of the repository. */
  readonly broken: ReadonlyMap<string, string>;
}

interface JestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly Omit<TestResult, 'spec'>[];
  }[];
}

interface JestConfig {
  readonly transform: Record<string, readonly [name: string, options: ChangingOptions['swc']]>;
}

/** Milliseconds. With a change, a test may never end. That does not prove that the test sees the change. */
const LONGEST_MUTANT_RUN = 180_000;

/** The root of the repository, from where this is compiled to. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url));

/** Runs the named tests of one workspace, with the change of the mutant if there is one. */
export async function runTests(
  workspace: string,
  tests: readonly NamedTest[],
  mutant: Mutant | undefined,
  signal: AbortSignal,
): Promise<RunResult> {
  const folder = await mkdtemp(join(tmpdir(), 'nest-dq-rules-'));
  try {
    const outputFile = join(folder, 'report.json');
    const config = await configOf(join(ROOT, workspace), mutant);
    const patterns = new Set(tests.map(namePattern));
    const specs = new Set(tests.map(({ spec }) => join(ROOT, spec)));
    const args = ['--config', JSON.stringify(config), '--runInBand', '--json', '--outputFile', outputFile];
    args.push('--testNamePattern', Array.from(patterns).join('|'), '--runTestsByPath', ...specs);
    const limit = mutant && LONGEST_MUTANT_RUN;
    const said = await jest(args, join(ROOT, workspace), signal, limit);
    if (!existsSync(outputFile)) throw new Error(`Jest failed: ${said.trim()}`);
    return resultOf(JSON.parse(await readFile(outputFile, 'utf8')) as JestReport);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function resultOf({ testResults }: JestReport): RunResult {
  const tests: TestResult[] = [];
  const broken = new Map<string, string>();
  for (const { name, message, assertionResults } of testResults) {
    const spec = relative(ROOT, name);
    if (assertionResults.length === 0) broken.set(spec, message);
    for (const result of assertionResults) tests.push({ ...result, spec });
  }
  return { tests, broken };
}

async function configOf(rootDir: string, mutant: Mutant | undefined): Promise<object> {
  const { default: common } = (await import(join(ROOT, 'scripts/jest.config.mjs'))) as {
    default: JestConfig;
  };
  const change = mutant && { from: mutant.from, to: mutant.to, file: join(ROOT, mutant.file) };
  const transformer = fileURLToPath(new URL('changing-transform.js', import.meta.url));
  const transform = Object.fromEntries(
    Object.entries(common.transform).map(([pattern, [, swc]]) => {
      const options: ChangingOptions = { swc, ...(change && { change }) };
      return [pattern, [transformer, options]];
    }),
  );
  return { ...common, rootDir, transform };
}

/** Resolves with what Jest printed for people. The exit status is not needed, because the report says the same. */
function jest(
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
  limit: number | undefined,
): Promise<string> {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const bin = join(ROOT, 'node_modules/jest/bin/jest.js');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, bin, ...args], {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
      timeout: limit,
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.on('error', reject);
    child.on('close', (_code, killed) =>
      killed ? reject(new Error(`Jest was ended by ${killed}`)) : resolve(said),
    );
  });
}
