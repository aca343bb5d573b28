import { readFileSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

/** Which rooms of src each may import; a file at the root of src is a room of its own. `nest` may import all but index. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  thenable: [],
  schema: ['errors', 'thenable'],
  time: ['errors'],
  backoff: ['errors', 'time'],
  heap: [],
  'wake-timer': ['time'],
  'ascii-json': [],
  job: ['errors', 'time', 'backoff', 'tube'],
  'copy-timing': [],
  location: [],
  'json-loss': ['thenable'],
  envelope: ['errors', 'time', 'backoff', 'location', 'ascii-json', 'json-loss'],
  'job-options': ['errors', 'backoff', 'job', 'time'],
  'job-ref': ['errors', 'job', 'location', 'ascii-json', 'envelope', 'job-options', 'tube'],
  beanstalk: ['errors', 'time', 'wake-timer'],
  tube: ['errors', 'beanstalk', 'schema'],
  disk: ['errors', 'time'],
  embedded: ['errors', 'time', 'heap', 'beanstalk', 'disk'],
  cluster: ['errors', 'time', 'location', 'beanstalk'],
  ledger: ['errors', 'time', 'job', 'location', 'disk'],
  'dead-letter': ['errors', 'envelope', 'job', 'job-ref', 'ledger'],
  events: ['errors', 'job', 'dead-letter', 'thenable'],
  hooks: ['errors', 'job', 'events'],
  'copy-storing': ['errors', 'location', 'envelope', 'copy-timing', 'cluster', 'ledger'],
  'copy-reading': ['location', 'envelope', 'cluster'],
  'copy-deletion': ['location', 'envelope', 'cluster', 'ledger'],
};
const LEAVES_AND_LOWER = Object.keys(MAY_IMPORT).filter((room) => room !== 'embedded' && room !== 'disk');
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  ...MAY_IMPORT,
  producer: LEAVES_AND_LOWER,
  consumer: LEAVES_AND_LOWER,
  health: ['cluster'],
  recurring: ['errors', 'time', 'job', 'events', 'producer', 'consumer'],
  // Its own entry: only those who have OpenTelemetry load it.
  telemetry: ['errors', 'job', 'thenable', 'events', 'hooks', 'consumer'],
  nest: [...Object.keys(MAY_IMPORT), 'producer', 'consumer', 'health', 'recurring'],
  // The program `nest-dq`.
  cli: ['embedded'],
  // Its own entry, for tests: an environment for the module, of which it replaces the servers and the time.
  'test-kit': [...Object.keys(MAY_IMPORT), 'producer', 'consumer', 'nest'],
  index: [...Object.keys(MAY_IMPORT), 'producer', 'consumer', 'health', 'recurring', 'nest'],
};
/** Of the protocol the embedded node may know the words, not the client. */
const CODEC = ['beanstalk/commands', 'beanstalk/reply-parser', 'beanstalk/yaml', 'beanstalk/beanstalk-error'];
/** Who may ask the machine for the time and for turns of the event loop; all others have a Clock. */
const CLOCKS = ['time', 'test-kit/real-time'];
/** Who may use which package at run time; node: is for all. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  ms: ['time'],
  ulid: ['producer'],
  ioredis: ['ledger'],
  '@nestjs/common': ['nest'],
  '@nestjs/core': ['nest'],
  rxjs: ['nest', 'events'],
  '@opentelemetry/api': ['telemetry'],
  croner: ['recurring'],
  'classic-level': ['disk'],
};

interface Import {
  readonly file: string;
  readonly from: string;
  /** Nothing of it is left at run time. */
  readonly typeOnly: boolean;
}

interface Source {
  /** Below src, without `.ts`. */
  readonly file: string;
  /** Without comments and texts. */
  readonly code: string;
  readonly imports: readonly Import[];
}

const roomOf = (file: string): string => file.split('/', 1)[0]!;

/** A source as the rules below see it. */
function read(file: string, text: string): Source {
  const withoutComments = text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/.*$/gm, '');
  const imports: Import[] = [];
  const statement =
    /\b(?:import|export)\s+(type\s+)?([\w*{}\s,$]*?)\bfrom\s*'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g;
  for (const [, type, names = '', from, bare] of withoutComments.matchAll(statement)) {
    const inner = /^\s*\{([^}]*)\}\s*$/.exec(names)?.[1];
    const allTypes =
      inner !== undefined && inner.split(',').every((name) => name.trim() === '' || /^\s*type\s/.test(name));
    const path = from ?? bare!;
    imports.push({
      file,
      from: path.startsWith('.') ? posix.join(posix.dirname(file), path).replace(/\.js$/, '') : path,
      typeOnly: from !== undefined && (type !== undefined || allTypes),
    });
  }
  const code = withoutComments.replace(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, "''");
  return { file, code, imports };
}

const isPackage = ({ from }: Import, sources: ReadonlySet<string>): boolean => !sources.has(from);
const nameOfPackage = (from: string): string => from.split('/', from.startsWith('@') ? 2 : 1).join('/');
const line = ({ file, from }: Import): string => `${file} imports ${from}`;

/** Broken rules, a line each. */
function problems(sources: readonly Source[]): string[] {
  const files = new Set(sources.map(({ file }) => file));
  const found: string[] = [];
  for (const { file, code, imports } of sources) {
    const room = roomOf(file);
    for (const each of imports) {
      if (each.from.startsWith('node:')) continue;
      if (isPackage(each, files)) {
        if (!each.typeOnly && !PACKAGES[nameOfPackage(each.from)]?.includes(room)) found.push(line(each));
        continue;
      }
      const target = roomOf(each.from);
      const inside = target === room && each.from !== 'index';
      const codecOnly = room !== 'embedded' || target !== 'beanstalk' || CODEC.includes(each.from);
      if (!inside && !(ALLOWED[room]?.includes(target) && codecOnly)) found.push(line(each));
    }
    const time =
      /\b(?:Date\.now|performance\.now|new Date\(\s*\)|Date\(\s*\)|setTimeout|setInterval|setImmediate|nextTick|queueMicrotask)\b|\bnew Date\(\s*\)/;
    if (!CLOCKS.includes(file)) {
      const use = time.exec(code)?.[0];
      if (use) found.push(`${file} uses ${use}`);
    }
    if (/\bconsole\b/.test(code)) found.push(`${file} uses console`);
  }
  return found;
}

const SRC = fileURLToPath(new URL('.', import.meta.url));
const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && !file.startsWith('testing/'))
  .map((file) => read(file.replace(/\.ts$/, ''), readFileSync(join(SRC, file), 'utf8')));

describe('the architecture', () => {
  it('is held by every file', () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(problems(sources)).toEqual([]);
  });

  it('has a place for every room', () => {
    const rooms = new Set(sources.map(({ file }) => roomOf(file)));
    expect([...rooms].filter((room) => !(room in ALLOWED))).toEqual([]);
  });
});

describe('the rules', () => {
  const check = (file: string, text: string): string[] =>
    problems([
      read(file, text),
      ...[
        'time',
        'errors',
        'index',
        'nest/tokens',
        'beanstalk/commands',
        'beanstalk/connection',
        'cluster/cluster',
      ]
        .filter((other) => other !== file)
        .map((other) => read(other, '')),
    ]);

  it.each([
    ['cluster/x', "import { a } from '../nest/tokens.js';", 'cluster/x imports nest/tokens'],
    ['cluster/x', "import type { A } from '../nest/tokens.js';", 'cluster/x imports nest/tokens'],
    ['cluster/x', "export { a } from '../nest/tokens.js';", 'cluster/x imports nest/tokens'],
    ['cluster/x', "await import('../nest/tokens.js');", 'cluster/x imports nest/tokens'],
    ['cluster/x', "import '../nest/tokens.js';", 'cluster/x imports nest/tokens'],
    ['cluster/x', "import {\n  a,\n  type B,\n} from '../nest/tokens.js';", 'cluster/x imports nest/tokens'],
    ['errors', "import { a } from './time/clock.js';", 'errors imports time'],
    ['ledger/x', "import { a } from '../cluster/cluster.js';", 'ledger/x imports cluster/cluster'],
    ['nest/x', "import { a } from '../index.js';", 'nest/x imports index'],
    [
      'embedded/x',
      "import { a } from '../beanstalk/connection.js';",
      'embedded/x imports beanstalk/connection',
    ],
    ['consumer/x', "import { Logger } from '@nestjs/common';", 'consumer/x imports @nestjs/common'],
    ['consumer/x', "import { type A, Logger } from '@nestjs/common';", 'consumer/x imports @nestjs/common'],
    ['consumer/x', "import Redis from 'ioredis';", 'consumer/x imports ioredis'],
    ['consumer/x', "import { a } from './gone.js';", 'consumer/x imports consumer/gone'],
    ['consumer/x', 'const t = Date.now();', 'consumer/x uses Date.now'],
    ['consumer/x', 'const t = new Date();', 'consumer/x uses new Date()'],
    ['consumer/x', 'performance.now()', 'consumer/x uses performance.now'],
    ['consumer/x', 'setTimeout(f, 5)', 'consumer/x uses setTimeout'],
    ['consumer/x', 'globalThis.setInterval(f, 5)', 'consumer/x uses setInterval'],
    ['consumer/x', 'setImmediate(f)', 'consumer/x uses setImmediate'],
    ['consumer/x', 'process.nextTick(f)', 'consumer/x uses nextTick'],
    ['consumer/x', 'queueMicrotask(f)', 'consumer/x uses queueMicrotask'],
    ['consumer/x', 'console.log(5)', 'consumer/x uses console'],
  ])('find in %s: %s', (file, text, problem) => {
    expect(check(file, text)).toEqual([problem]);
  });

  it.each([
    ['cluster/x', "import { a } from '../beanstalk/connection.js';"],
    ['embedded/x', "import { a } from '../beanstalk/commands.js';"],
    ['consumer/x', "import type { LoggerService } from '@nestjs/common';"],
    ['consumer/x', "import { type LoggerService } from '@nestjs/common';"],
    ['nest/x', "import { Logger } from '@nestjs/common';"],
    ['consumer/x', 'const d = new Date(5);'],
    ['consumer/x', '// setTimeout alone wraps, see console\n/* Date.now() */'],
    ['consumer/x', "throw new Error('not setTimeout');"],
    ['time', 'setTimeout(f, Date.now())'],
    ['test-kit/real-time', 'setTimeout(f, Date.now())'],
  ])('find nothing in %s: %s', (file, text) => {
    expect(check(file, text)).toEqual([]);
  });
});
