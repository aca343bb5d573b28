// Strings that others wrote into jobs reach an operator's terminal as plain text, whatever command shows them.
import { describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';
import { PROGRAM } from './nest-dq-process.js';

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
    ['jobs', TUBE],
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

describe('on a terminal', () => {
  const LONG = `tenant.${'x'.repeat(168)}.mail`;
  // oxlint-disable-next-line no-control-regex
  const CODES = /\x1b\[[?\d;]*[A-Za-z]/g;
  const linesOf = (said: string) => said.replaceAll(CODES, '').split(/\r?\n/);

  it('a tube name of 180 characters hides nothing of the others, and --wide shows it', async () => {
    await suite.system.producer.delay(LONG, 1, '1h');
    for (const command of [['stats'], ['doctor'], ['top', '--count', '1']]) {
      const lines = linesOf(await suite.atTerminal(command, []));
      expect([command, Math.max(...lines.map(({ length }) => length)) <= 80]).toEqual([command, true]);
      expect(lines).toContainEqual(expect.stringMatching(/^(warning +|ok +)?tenant\.x+….*mail( |$)/));
    }
    const stats = linesOf(await suite.atTerminal(['stats'], []));
    expect(stats).toContainEqual(expect.stringMatching(/^order\.cancel +\d+ .* yes/));
    expect(await suite.atTerminal(['stats', '--wide'], [])).toContain(LONG);
    expect((await suite.nestDq(['stats'])).stdout).toContain(LONG); // in a pipe, too
  });

  it('top keeps LATE at 60 columns', async () => {
    await suite.system.control.pause(TUBE);
    await suite.system.producer.now(TUBE, 1);
    await eventually('it is late', async () => {
      const { overdueFor = 0 } = await suite.system.inspector.tube(TUBE);
      return overdueFor > 1_000;
    });
    const said = await suite.atTerminal(['top', '--count', '1'], [], 60);
    await suite.system.control.resume(TUBE);
    const lines = linesOf(said);
    expect(lines).toContainEqual(expect.stringMatching(/^TUBE +WAITING +DUE +LATE /));
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60);
  });

  it('there are colours, but none with NO_COLOR', async () => {
    expect(await suite.atTerminal(['doctor'], [])).toContain('\x1b[32mok');
    const without = await suite.shell(
      `TERM=xterm-256color NO_COLOR=1 script -qec '${process.execPath} ${PROGRAM} doctor' /dev/null`,
      '',
    );
    expect(without.stdout).toMatch(/^ok {7}redis/m);
    expect(without.stdout).not.toContain('\x1b');
  });

  it.each([[['stats']], [['jobs', TUBE]], [['doctor']]])(
    '%j --watch shows it until q is pressed',
    async (command) => {
      const said = await suite.onTerminal([...command, '--watch'], '\x1b[J', 'q');
      expect(said).toContain('\x1b[?1049h');
      // oxlint-disable-next-line no-control-regex
      expect(said).toMatch(/\x1b\[\?25h\x1b\[\?1049l[^]*status 0$/);
      const piped = await suite.nestDq([...command, '--watch']);
      expect([piped.code, piped.stderr]).toEqual([2, expect.stringContaining('no terminal for --watch.')]);
    },
  );

  it('Enter shows the marked tube of top alone', async () => {
    const key = { key: 'first-of-all' };
    await suite.system.producer.delay('a.first', 1, '1h', key);
    const said = await suite.atTerminal(
      ['top', '--sort', 'name', '--interval', '500ms'],
      [
        ['order.cancel', 'j'],
        ['▸ a.first', '\r'],
        [key.key, '\x1b'],
        ['▸ a.first', 'q'],
      ],
    );
    expect(linesOf(said)).toContainEqual(expect.stringMatching(/^consumers +0 processes/));
    expect(said).toMatch(/status 0$/);
  });
});

it('dead show prints the stack as lines', async () => {
  await suite.system.consumer.consume(
    'stack',
    () => {
      throw new Error('connect ETIMEDOUT');
    },
    { attempts: 1 },
  );
  const { ref } = await suite.system.producer.now('stack', 1);
  await eventually('it is dead', async () => (await suite.system.producer.find(ref))?.state === 'dead');
  const { stdout } = await suite.nestDq(['dead', 'show', ref]);
  expect(stdout).toMatch(/^error +Error: connect ETIMEDOUT\n +at .*\n/m);
  expect(stdout).not.toContain('\\u000a');
});
