// A node that answers what no beanstalkd does is away, with a reason; nothing else is disturbed, and no copy is deleted.
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from 'test-servers';
import { countCopies } from '../support/copies.js';
import { GREETING, HostileNode, ok, type Says } from '../support/hostile-node.js';
import { expectOnceEach, record, schedule, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';

const GIB = 2 ** 30;
const suite = clusterSuite();
let hostile: HostileNode | undefined;
let tubes = 0;

afterEach(() => hostile?.close());

/** Answers the greeting, and then so. */
const afterGreeting = (says: Says): Says => {
  let asked = 0;
  return (line) => (line === 'stats' && asked++ === 0 ? GREETING : says(line));
};
const always =
  (reply: string | Buffer): Says =>
  () =>
    reply;

/** Our jobs run once each despite it, and those that wait stay where they are. Resolves with the lines logged about it. */
async function runsBeside(says: Says, reason: RegExp): Promise<string[]> {
  hostile = await HostileNode.start(says);
  const { endpoint } = hostile;
  const real = suite.servers.beanstalkds.slice(0, 2);
  const system = suite.start({ beanstalks: [...real.map((node) => node.endpoint), endpoint], minWritten: 2 });
  const node = system.nodes.find((each) => each.endpoint === endpoint)!;
  await eventually('the two real nodes are up', () => system.nodes.filter(({ up }) => up).length >= 2);
  await eventually('it is logged', () => system.log.some((line) => line.includes(endpoint)));
  const tube = `hostile-${++tubes}`;
  const waiting = `${tube}-waiting`;
  await schedule(system, waiting, 5, () => Date.now() + 3_600_000);
  const starts: Start[] = [];
  await record(system, tube, starts);
  const receipts = await schedule(system, tube, 20, () => Date.now());
  await eventually('all have run', () => starts.length >= 20);
  expectOnceEach(starts, receipts);
  for (const each of real) expect(await countCopies(each, waiting)).toBe(5);
  await eventually('it is away, with the reason', () => reason.test(node.reason));
  await eventually('its connections are closed', () => hostile!.ended > 0);
  const lines = system.log.filter((line) => line.includes(endpoint));
  for (const line of lines) {
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\0-\x1f\x7f-\x9f]/);
    expect(line.length).toBeLessThan(500);
  }
  expect(node.up && node.reason === 'up').toBe(false);
  return lines;
}

describe('a node that', () => {
  it.each<[string, Says, RegExp]>([
    [
      'sends a line without an end',
      always(Buffer.alloc(1_000_000, 'x')),
      /BAD_REPLY: an overlong line: "xxx/,
    ],
    ['announces 2^53 bytes', always(`OK ${2 ** 53}\r\n`), /BAD_REPLY: an overlong body: "9007199254740992"/],
    [
      'tells a number of a million digits',
      always(`OK ${'9'.repeat(1_000_000)}\r\n`),
      /BAD_REPLY: an overlong/,
    ],
    ['answers as a web server', always('HTTP/1.1 400 Bad\r\n\r\n'), /BAD_REPLY: an unknown word: "HTTP/],
    ['wants to clear the terminal', always('\x1b[2J\x9b\n all is well\r\n'), /no CRLF: "\\u001b\[2J\\u009b/],
    [
      'has an id of many lines',
      always(ok('---\nid: a\r#b:c\n')),
      /BAD_REPLY: OK with "---\\nid: a\\r#b:c\\n"/,
    ],
    ['has an id of 100 KB', always(ok(`---\nid: ${'a'.repeat(100_000)}\n`)), /BAD_REPLY: OK with "---\\nid/],
    ['takes jobs of no size', always(ok('---\nmax-job-size: -1\n')), /BAD_REPLY: OK with/],
    ['has a million statistics', always(ok(`---\n${'a: 1\n'.repeat(1_000_000)}`)), /BAD_REPLY: OK with "---/],
    ['has statistics of 20 MB', always(ok(`---\n${'a: 1\n'.repeat(4_000_000)}`)), /BAD_REPLY: OK to `stats`/],
    ['replies twice', always(`${GREETING}DELETED\r\n`), /DELETED, although no command was sent/],
    [
      'changes its mind after the greeting',
      afterGreeting(always('RESERVED 1 4\r\nbody\r\n')),
      /BAD_REPLY: RESERVED with "1" to `[^`]+`/,
    ],
  ])(
    '%s is away',
    async (_what, says, reason) => {
      const lines = await runsBeside(says, reason);
      expect(lines.some((line) => reason.test(line))).toBe(true);
    },
    60_000,
  );

  it('announces 1 GiB costs no memory, and is away when the deadline is over', async () => {
    const before = process.memoryUsage().arrayBuffers;
    await runsBeside(afterGreeting(always(`OK ${GIB}\r\n`)), /DEADLINE: no reply to `[^`]+`|CONNECTION_LOST/);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(GIB / 16);
  }, 60_000);
});
