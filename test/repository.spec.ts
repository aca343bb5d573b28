// The repository's own files for contributors and GitHub: versions, workflows, forms, links.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as Readonly<{
  repository: string;
  engines: { node: string };
  scripts: Record<string, string>;
}>;
const [, owner] = /^https:\/\/github\.com\/([^/]+)\/nest-dq$/.exec(manifest.repository)!;

/** Those that git would commit. */
const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\0')
  .filter((path) => path && existsSync(join(ROOT, path)));

/** The text of all files but pictures and the lock file. */
const texts = files
  .filter((path) => !/\.(png|svg|ico|bin)$|package-lock\.json$/.test(path))
  .map((path) => ({ path, text: read(path) }));

describe('links to the repository', () => {
  const links = texts.flatMap(({ path, text }) =>
    Array.from(
      text.matchAll(/github\.com\/([\w-]+)\/nest-dq(?![\w-])(?:\/(?:blob|tree)\/main\/([\w./-]+))?/g),
      ([, name, page]) => ({ path, name, page }),
    ),
  );

  it('name the owner that package.json names', () => {
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter(({ name, path }) => name !== owner && path !== 'test/repository.spec.ts')).toEqual(
      [],
    );
  });

  it('lead to files that exist', () => {
    const pages = links.flatMap(({ path, page }) => (page ? [{ path, page: page.replace(/\.$/, '') }] : []));
    expect(pages.filter(({ page }) => !existsSync(join(ROOT, page)))).toEqual([]);
  });

  it('are all set by one command', () => {
    const copy = mkdtempSync(join(tmpdir(), 'nest-dq-owner-'));
    try {
      for (const { path } of texts) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
      const git = (...args: string[]) => execFileSync('git', args, { cwd: copy });
      git('init', '-q');
      git('add', '-A');
      execFileSync(process.execPath, ['scripts/owner.mjs', 'acme'], { cwd: copy });
      const left = texts.filter(({ path }) => {
        const text = readFileSync(join(copy, path), 'utf8');
        return path !== 'test/repository.spec.ts' && text.includes(`github.com/${owner}/nest-dq`);
      });
      expect(left.map(({ path }) => path)).toEqual([]);
      expect(readFileSync(join(copy, 'SECURITY.md'), 'utf8')).toContain('github.com/acme/nest-dq/');
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  it('are set for a valid name only', () => {
    const run = () =>
      execFileSync(process.execPath, ['scripts/owner.mjs', 'a b'], { cwd: ROOT, stdio: 'pipe' });
    expect(run).toThrow(/got "a b"/);
  });
});

describe('GitHub', () => {
  it('runs what CI runs, as the tests need it', () => {
    const { jobs } = parse(read('.github/workflows/ci.yml')) as {
      jobs: { ci: { steps: { run?: string; uses?: string }[]; strategy: { matrix: { node: number[] } } } };
    };
    expect(jobs.ci.steps.map(({ run }) => run)).toContain('.ci/run');
    expect(statSync(join(ROOT, '.ci/run')).mode & 0o111).toBe(0o111);
    for (const [, script] of read('.ci/run').matchAll(/npm (?:run )?(test[\w:]*)/g)) {
      expect(Object.keys(manifest.scripts)).toContain(script);
    }
  });

  it('pins each action to a commit', () => {
    const workflows = files.filter((path) => path.startsWith('.github/workflows/'));
    const uses = workflows.flatMap((path) =>
      Array.from(read(path).matchAll(/uses: (\S+)/g), ([, name]) => name),
    );
    expect(uses.length).toBeGreaterThan(0);
    for (const name of uses) expect(name).toMatch(/@[\da-f]{40}$/);
  });

  it('asks whoever reports a bug for versions and what doctor says', () => {
    const { body } = parse(read('.github/ISSUE_TEMPLATE/bug.yml')) as {
      body: { id?: string; validations?: { required?: boolean } }[];
    };
    const required = body.filter(({ validations }) => validations?.required).map(({ id }) => id);
    expect(required).toEqual(expect.arrayContaining(['what', 'reproduction', 'versions', 'doctor']));
  });

  it('updates the images of every Dockerfile', () => {
    const { updates } = parse(read('.github/dependabot.yml')) as {
      updates: { 'package-ecosystem': string; directories?: string[] }[];
    };
    const docker = updates.find((update) => update['package-ecosystem'] === 'docker')!;
    const folders = files.filter((path) => /(^|\/)Dockerfile$/.test(path)).map((path) => `/${dirname(path)}`);
    expect([...docker.directories!].sort()).toEqual(folders.sort());
  });
});

it('the version in .nvmrc is one that the packages support, and the development container’s', () => {
  const version = read('.nvmrc').trim();
  expect(manifest.engines.node).toMatch(new RegExp(`>=${version}\\.`));
  expect(read('.devcontainer/devcontainer.json')).toContain(`"image": "node:${version}-`);
});

it('editors use the format that oxfmt checks', () => {
  const { printWidth, singleQuote } = JSON.parse(read('.oxfmtrc.json')) as Record<string, unknown>;
  const editor = read('.editorconfig');
  expect(editor).toContain(`max_line_length = ${String(printWidth)}`);
  expect(editor.includes('quote_type = single')).toBe(singleQuote);
});
