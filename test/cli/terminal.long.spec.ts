// Strings that others wrote into jobs reach an operator's terminal as plain text, whatever command shows them.
import { expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();

/** Erases the screen, twice; turns what follows around; and a line of its own. */
const HOSTILE = 'a\x1b[2J\x9b2J\u202e\u2066\x7f\nnest-dq: all is well';
// oxlint-disable-next-line no-control-regex
const OBEYED = /[\0-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

it('shows no terminal control characters, and no foreign line, in text and JSON', async () => {
  const job = { tube: TUBE, key: HOSTILE };
  await suite.system.producer.now(TUBE, { bad: true, because: HOSTILE }, { key: HOSTILE });
  await eventually('it is dead', async () => (await suite.system.producer.find(job))?.state === 'dead');
  await suite.system.producer.delay(TUBE, { note: HOSTILE }, '1h', { key: `${HOSTILE} 2` });
  const commands = [
    ['explain', '--tube', TUBE, '--key', HOSTILE],
    ['dead', 'list', TUBE],
    ['dead', 'show', '--tube', TUBE, '--key', HOSTILE],
    ['dead', 'discard-many', TUBE, '--dry-run'],
    ['waiting', TUBE],
    ['export', TUBE, '--dead'],
    ['find', '--tube', TUBE, '--key', HOSTILE],
    ['find', '--tube', HOSTILE, '--key', 'none'],
  ];
  for (const command of commands) {
    for (const args of command[0] === 'export' ? [command] : [command, [...command, '--json']]) {
      const { stdout, stderr } = await suite.nestDq(args);
      expect({ args, stdout: OBEYED.test(stdout), stderr: OBEYED.test(stderr) }).toEqual({
        args,
        stdout: false,
        stderr: false,
      });
      expect(stdout).not.toMatch(/^nest-dq: all is well/m);
      if (args.includes('--json') && stdout !== '') JSON.parse(stdout);
    }
  }
  const exported = await suite.nestDq(['export', TUBE]);
  const [waiting] = exported.stdout
    .split('\n')
    .map((line) => JSON.parse(line || 'null') as { payload: unknown });
  expect(waiting!.payload).toEqual({ note: HOSTILE });
});
