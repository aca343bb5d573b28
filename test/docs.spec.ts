import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { describe, expect, it } from '@jest/globals';
import { DQ_ERROR_CODES } from 'nest-dq/src/errors.js';
import { DEFAULT_LOG_LEVELS } from 'nest-dq/src/nest/log-levels.js';
import { ACT_NAMES } from 'nest-dq/src/dashboard/acts.js';
import { NO_EXTRAS, OPTION_NAMES as DASHBOARD_OPTIONS } from 'nest-dq/src/dashboard/options.js';
import { ADVANCED_NAMES, OPTION_NAMES } from 'nest-dq/src/nest/options.js';
import { EVENT_NAMES } from 'nest-kq/src/events/event-hub.js';
import { KQ_ERROR_CODES } from 'nest-kq/src/errors.js';
import { HANDLER_OPTION_NAMES } from 'nest-kq/src/nest/handler-options.js';
import { DEFAULT_LOG_LEVELS as KQ_LOG_LEVELS } from 'nest-kq/src/nest/log-levels.js';
import { OPTION_NAMES as KQ_OPTIONS } from 'nest-kq/src/nest/options.js';
import { blocksOf, compact } from './support/page.js';

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

const docs = readdirSync(new URL('../docs', import.meta.url)).filter((name) => name.endsWith('.md'));
const internals = readdirSync(new URL('../docs/internals', import.meta.url));
const kqDocs = readdirSync(new URL('../docs/kq', import.meta.url)).filter((name) => name.endsWith('.md'));
const examples = readdirSync(new URL('../examples', import.meta.url)).filter((name) =>
  existsSync(new URL(`../examples/${name}/README.md`, import.meta.url)),
);
const PAGES = [
  'README.md',
  'README.zh-CN.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'packages/nest-handlers/README.md',
  'packages/nest-kq/README.md',
  'docs/monitoring/README.md',
  'examples/README.md',
  ...examples.map((name) => `examples/${name}/README.md`),
  ...docs.map((name) => `docs/${name}`),
  ...internals.map((name) => `docs/internals/${name}`),
  ...kqDocs.map((name) => `docs/kq/${name}`),
];

/** The first column of all tables of a page, where it is one piece of code. */
function namedInTables(page: string): Set<string> {
  return new Set([...page.matchAll(/^\| `([^`]+)` +\|/gm)].map((match) => match[1]!));
}

/** By kind, what the table of a page's first chapter says. */
function levelsOf(page: string): Record<string, string> {
  const rows = page.split('\n## ')[0]!.matchAll(/^\| `(\w+)` .*\| `'(\w+)'` +\|$/gm);
  return Object.fromEntries(Array.from(rows, ([, kind, level]) => [kind, level]));
}

/** The names by which links find the headings of a page. */
function headingsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Parts shared by a page and its translation: the order of headings, lists and tables; code without comments; links; names; figures. */
function untranslated(page: string) {
  const block = /^```\w*\n[^]*?^```$/gm;
  const text = page.replace(block, '');
  const found = (pattern: RegExp) => new Set(Array.from(text.matchAll(pattern), ([, each]) => each!));
  return {
    outline: Array.from(text.matchAll(/^(#+|-|\|)/gm), ([, mark]) => mark).join(' '),
    code: Array.from(page.matchAll(block), ([code]) => code.replace(/ *(?:\/\/|#) .*$/gm, '')),
    links: found(/\]\((?!README\b)([^)]*)\)/g),
    names: found(/`([^`]+)`/g),
    figures: found(/(\d+(?:[.,]\d+)*)/g),
  };
}

describe('the documentation', () => {
  it('says for each error code what to do, and has no code that does not exist', () => {
    expect(namedInTables(read('docs/errors.md'))).toEqual(new Set(DQ_ERROR_CODES));
    expect(namedInTables(read('docs/kq/errors.md'))).toEqual(new Set(KQ_ERROR_CODES));
  });

  it('lists each option of the module', () => {
    const [options, ...chapters] = read('docs/options.md').split('\n## ');
    expect(namedInTables(options!)).toEqual(new Set(OPTION_NAMES));
    const advanced = chapters.find((chapter) => chapter.startsWith('Advanced'));
    expect(namedInTables(advanced!)).toEqual(new Set(ADVANCED_NAMES));
  });

  it('lists each option of the module of nest-kq, and of its handlers', () => {
    const chapters = read('docs/kq/configuration.md').split('\n## ');
    const named = (title: string) => namedInTables(chapters.find((each) => each.startsWith(title))!);
    expect(named('Options of the module')).toEqual(new Set(KQ_OPTIONS));
    expect(named('Options of a handler')).toEqual(new Set(HANDLER_OPTION_NAMES));
  });

  it('lists each option of the dashboard, and each act that `access` can grant', () => {
    const page = read('docs/dashboard.md');
    const [, options] = page.split('## Options');
    expect(namedInTables(options!)).toEqual(new Set([...DASHBOARD_OPTIONS, ...Object.keys(NO_EXTRAS)]));
    for (const act of ACT_NAMES) expect(page).toContain(`\`${act}\``);
  });

  it('says at which level each kind of log line is', () => {
    const [, log] = read('docs/options.md').split('## The log');
    expect(levelsOf(log!)).toEqual(DEFAULT_LOG_LEVELS);
  });

  it('says of each event of nest-kq what it carries, and of each kind of its log lines the level', () => {
    const [, events, log] = read('docs/kq/observability.md').split(/\n## (?:Events|The log)/);
    expect(namedInTables(events!)).toEqual(new Set(EVENT_NAMES));
    expect(levelsOf(log!)).toEqual(KQ_LOG_LEVELS);
  });

  it.each(PAGES)('has in %s only links to files and headings that exist', (page) => {
    for (const [link, path, heading] of read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const target = path === '' ? page : join(dirname(page), path!);
      const headings = existsSync(new URL(`../${target}`, import.meta.url))
        ? headingsOf(read(target))
        : undefined;
      expect([link, headings !== undefined]).toEqual([link, true]);
      if (heading !== undefined) expect(headings).toContain(heading);
    }
  });

  it('leads from the README to its index, and from there to each page', () => {
    expect(read('README.md')).toContain('(docs/README.md)');
    const pages = [
      ...docs.filter((page) => page !== 'README.md'),
      ...internals.map((page) => `internals/${page}`),
      ...kqDocs.map((page) => `kq/${page}`),
    ];
    for (const page of pages) expect(read('docs/README.md')).toContain(`](${page})`);
  });

  it('leads to each example', () => {
    expect(read('docs/README.md')).toContain('(../examples/README.md)');
    for (const name of examples) expect(read('examples/README.md')).toContain(`](${name}/README.md)`);
  });

  it('has the README in Chinese with the same outline, code, links, names and figures', () => {
    const [english, chinese] = [read('README.md'), read('README.zh-CN.md')];
    expect(untranslated(chinese)).toEqual(untranslated(english));
    const begins = (page: string) => page.split('\n').slice(0, 4).join('\n');
    expect(begins(english)).toContain('(README.zh-CN.md)');
    expect(begins(chinese)).toContain('(README.md)');
  });

  it('maps each folder and file of the source', () => {
    const src = new URL('../packages/nest-dq/src/', import.meta.url);
    const map = read('docs/architecture.md');
    const [, folders] = map.split(/## Folders|## Directions/);
    const there = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const listed = [...namedInTables(folders!)].filter((name) => name.endsWith('/'));
    expect(new Set(listed)).toEqual(new Set(there.map(({ name }) => `${name}/`)));
    for (const [, file] of `${map}${read('docs/internals/delivery.md')}`.matchAll(
      /`([a-z-]+\/[a-z\d/-]+\.ts)`/g,
    ))
      expect([file, existsSync(new URL(file!, src))]).toEqual([file, true]);
  });

  it('names only files of nest-handlers that exist', () => {
    const [, packages] = read('docs/architecture.md').split(/## Packages|## Folders/);
    const files = [...packages!.matchAll(/\(`([a-z-]+\.ts)`\)/g)].map(([, file]) => file!);
    expect(files.length).toBeGreaterThan(0);
    const src = readdirSync(new URL('../packages/nest-handlers/src/', import.meta.url), { recursive: true });
    expect(src.map((path) => String(path).split('/').at(-1))).toEqual(expect.arrayContaining(files));
  });

  it.each([
    ['from-bullmq', 'moving/from-bullmq'],
    ['from-go-queue', 'moving/from-go-queue'],
    ['kq/from-go-queue', 'moving/from-go-queue-kq'],
    ['kq/from-nest-transporter', 'moving/from-nest-transporter'],
    ['kq/getting-started', 'recipes/kq-getting-started'],
    ['from-nestjs-schedule', 'recipes/from-nestjs-schedule'],
    ['changing-payloads', 'recipes/changing-payloads'],
    ['recipes', 'recipes/cookbook'],
  ])('has in %s only code of ours that is compiled', (page, source) => {
    const compiled = compact(read(`test/${source}.ts`));
    const others = /^\/\/ (?:BullMQ|@nestjs\/(?:microservices|schedule))/;
    const ours = blocksOf(read(`docs/${page}.md`)).filter((code) => !others.test(code));
    expect(ours.length).toBeGreaterThan(0);
    for (const code of ours) expect(compiled).toContain(compact(code.replace(/^\/\/ .*\n/, '')));
  });
});
