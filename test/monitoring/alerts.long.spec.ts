import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { COMMANDS } from 'nest-dq/src/cli/commands.js';
import { parseArguments } from 'nest-handlers/cli';
import { ensurePackaged } from 'test-servers';
import { parse } from 'yaml';
import { rules } from './queries.js';

const here = (path: string) => new URL(path, import.meta.url);
const TESTS = ['alerts.test.yml', 'job-alerts.test.yml'];
const read = (path: string) => readFileSync(here(path), 'utf8');

let promtool: string;

beforeAll(async () => {
  promtool = await ensurePackaged('promtool');
}, 900_000);

/** Resolves with the output of promtool. Rejects with it if it finds a mistake. */
async function check(...args: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(promtool, args);
  return stdout + stderr;
}

describe('the alerts', () => {
  it('are rules that Prometheus takes, without a name twice', async () => {
    const said = await check('check', 'rules', fileURLToPath(here('../../docs/monitoring/alerts.yml')));
    expect(said).toContain(`SUCCESS: ${rules.length} rules found`);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  it('fire when they should, with the right texts, by the promtool tests in this folder', async () => {
    const said = await check('test', 'rules', ...TESTS.map((name) => fileURLToPath(here(name))));
    expect(said).toContain('SUCCESS');
  });

  it('have each a test in which it fires, and one in which it does not', () => {
    interface Case {
      alertname: string;
      exp_alerts?: unknown[];
    }
    const files = TESTS.map((name) => parse(read(name)) as { tests: { alert_rule_test: Case[] }[] });
    const cases = files.flatMap(({ tests }) => tests.flatMap((test) => test.alert_rule_test));
    const named = (fires: boolean) =>
      new Set(
        cases.filter(({ exp_alerts: alerts }) => !!alerts?.length === fires).map((each) => each.alertname),
      );
    const names = new Set(rules.map(({ alert }) => alert));
    expect(named(true)).toEqual(names);
    expect(named(false)).toEqual(names);
  });

  it('say how urgent they are and what is wrong, and lead to what to do', () => {
    const runbook = read('../../docs/runbook.md');
    const headings = [...runbook.matchAll(/^## (Dq\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(rules.map(({ alert }) => alert));
    const page = 'https://github.com/OWNER/nest-dq/blob/main/docs/runbook.md';
    for (const { alert, labels, annotations } of rules) {
      expect(['critical', 'warning']).toContain(labels['severity']);
      expect(annotations).toEqual({
        summary: expect.any(String),
        description: expect.any(String),
        runbook_url: `${page}#${alert.toLowerCase()}`,
      });
    }
  });
});

describe('the runbook', () => {
  it('has only command lines that exist, with their arguments', async () => {
    const lines = [...read('../../docs/runbook.md').matchAll(/`npx nest-dq ([^`]+)`/g)].map(
      ([, line]) => line!,
    );
    expect(lines).toContainEqual(expect.stringMatching(/^dead revive-many /));
    for (const line of lines) {
      const words = line.split(/\s+/);
      const name = [words.slice(0, 2).join(' '), words[0]!].find((each) => each in COMMANDS);
      expect([line, name]).toEqual([line, expect.any(String)]);
      const command = await COMMANDS[name!]!();
      const args = words.slice(name!.split(' ').length);
      // A command named in a sentence has no operands.
      if (args.length > 0) expect(() => parseArguments(command, args)).not.toThrow();
    }
  });
});

describe('how to set up metrics', () => {
  it('is code that compiles', () => {
    expect(read('../../docs/monitoring/README.md')).toContain(
      `\`\`\`ts\n${read('instrumentation.ts')}\`\`\``,
    );
  });
});
