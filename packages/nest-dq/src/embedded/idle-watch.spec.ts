import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { Talker } from '../../spec-support/talker.js';
import { duplexPair, InProcessNode } from './in-process-node.js';
import { IdleWatch } from './listener.js';

const IDLE = 60_000;
const PUT = 'put 0 0 600 1\r\nx\r\n';

let clock: VirtualClock;
let node: InProcessNode;
let watch: IdleWatch;

beforeEach(() => {
  clock = new VirtualClock();
  node = new InProcessNode(clock);
  watch = new IdleWatch(clock, IDLE);
});

afterEach(() => node.close());

function connect(): Talker {
  const { client, server } = duplexPair(clock);
  const session = node.serve(server);
  watch.add(session);
  server.on('close', () => watch.delete(session));
  return new Talker(clock, node, client);
}

/** Whether each has ended after the time that an idle connection has, and after that of the last look. */
async function endedIn(...talkers: Talker[]): Promise<boolean[][]> {
  await clock.advance(IDLE - 1);
  const early = talkers.map(({ hasEnded }) => hasEnded);
  await clock.advance(IDLE / 4 + 1);
  return [early, talkers.map(({ hasEnded }) => hasEnded)];
}

describe('a connection is closed for being idle', () => {
  it('if it has sent nothing for that long', async () => {
    const [silent, busy] = [connect(), connect()];
    await silent.says('list-tube-used\r\n');
    for (let i = 1; i < 6; i++)
      clock.after((IDLE / 4) * i - 1, () => busy.stream.write('list-tube-used\r\n'));
    expect(await endedIn(silent, busy)).toEqual([
      [false, false],
      [true, false],
    ]);
  });

  it('if it sends the beginning of a line, or of a body, and no more', async () => {
    const talkers = [connect(), connect()];
    await talkers[0]!.says('put 0 0 60 100\r\nabc');
    await talkers[1]!.says('stats-tu');
    expect(await endedIn(...talkers)).toEqual([
      [false, false],
      [true, true],
    ]);
    expect(await connect().says('stats\r\n')).toContain('\ncurrent-connections: 1\n');
  });

  it('if it takes none of its replies, even while it holds a job, which then goes to others', async () => {
    const [deaf, other] = [connect(), connect()];
    await other.says(`put 0 0 600 60000\r\n${'x'.repeat(60_000)}\r\n`);
    await deaf.says('reserve\r\n');
    deaf.stream.pause();
    await deaf.says('peek 1\r\n'.repeat(100));
    await other.says('reserve\r\n');
    await clock.advance(IDLE * 1.5);
    expect(await other.hears()).toMatch(/^RESERVED 1 60000\r\n/);
  });
});

describe('a connection is not closed', () => {
  it('while it waits in a reserve, or holds a job, and not at once when that is over', async () => {
    const [waits, holds, puts] = [connect(), connect(), connect()];
    await puts.says(PUT);
    expect(await holds.says('reserve\r\n')).toBe('RESERVED 1 1\r\nx\r\n');
    await waits.says('reserve-with-timeout 300\r\n');
    await clock.advance(300_000);
    expect(await waits.hears()).toBe('TIMED_OUT\r\n');
    expect(await holds.says('delete 1\r\n')).toBe('DELETED\r\n');
    expect(puts.hasEnded).toBe(true);
    await clock.advance(IDLE / 2);
    expect([waits.hasEnded, holds.hasEnded]).toEqual([false, false]);
    await clock.advance(IDLE);
    expect([waits.hasEnded, holds.hasEnded]).toEqual([true, true]);
  });

  it('while it takes a long reply bit by bit', async () => {
    const slow = connect();
    await slow.says(`put 0 0 600 60000\r\n${'x'.repeat(60_000)}\r\n`);
    slow.stream.pause();
    await slow.says('peek 1\r\n'.repeat(1_000));
    for (let i = 0; i < 6; i++) {
      await clock.advance(IDLE / 2);
      slow.stream.read();
    }
    expect(slow.hasEnded).toBe(false);
  });
});

it('needs no timer when nobody is connected', async () => {
  const talker = connect();
  talker.stream.destroy();
  await clock.advance(0);
  expect(clock.nextTimer).toBe(Infinity);
});
