import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import { Alarms } from './alarms.js';
import type { Client } from './client.js';
import type { Verb } from './command-parser.js';
import { duplexPair, type DuplexPair } from './duplex-pair.js';
import { Session } from './session.js';
import { JobStore } from './store.js';
import { TimeShares } from './time-shares.js';
import { Tubes } from './tubes.js';

describe('Session', () => {
  let clock: VirtualClock;
  let pair: DuplexPair;
  let shares: TimeShares<Session>;
  let session: Session;
  let commands: Partial<Record<Verb, number>>;
  const mayGoOn = jest.fn<() => boolean>();

  beforeEach(() => {
    clock = new VirtualClock();
    pair = duplexPair(clock);
    shares = new TimeShares(clock);
    shares.mayGoOn = mayGoOn.mockReset();
    commands = {};
    const tubes = new Tubes();
    const store = new JobStore(clock, tubes);
    session = new Session(pair.server, {
      shared: {
        clock,
        tubes,
        store,
        alarms: new Alarms<Client>(),
        maxJobSize: 1,
        isDraining: false,
        stats: () => '',
      },
      commands,
      shares,
      schedule: () => undefined,
      closed: () => undefined,
    });
  });

  async function arrives(bytes: string): Promise<void> {
    pair.client.write(bytes);
    await clock.quiet();
  }

  it('asks after eight lines whether it may go on', async () => {
    mayGoOn.mockReturnValueOnce(true).mockReturnValueOnce(true).mockReturnValueOnce(false);
    await arrives('list-tube-used\r\n'.repeat(100));
    session.run();
    expect(commands).toEqual({ 'list-tube-used': 24 });
  });

  it('asks after 16 KB, also where they hold no line', async () => {
    await arrives('x'.repeat(16 * 1024 - 1));
    session.run();
    expect(mayGoOn).not.toHaveBeenCalled();
    await arrives('x'.repeat(16 * 1024));
    session.run();
    expect(mayGoOn).toHaveBeenCalledTimes(1);
  });

  it('does a little in each round without asking', async () => {
    for (let round = 0; round < 5; round++) {
      await arrives('list-tube-used\r\n'.repeat(7));
      session.run();
      shares.round++;
    }
    expect(mayGoOn).not.toHaveBeenCalled();
    for (const part of ['1', '2']) {
      await arrives(`use t${part}\r\n`.repeat(7));
      session.run();
    }
    expect(mayGoOn).toHaveBeenCalledTimes(1);
  });

  it('neither runs nor reads before it may go on, whatever happens', async () => {
    mayGoOn.mockReturnValue(false);
    await arrives('list-tube-used\r\n'.repeat(100));
    session.run();
    session.run();
    expect(commands).toEqual({ 'list-tube-used': 8 });
    expect(pair.server.isPaused()).toBe(true);
    session.goOn();
    mayGoOn.mockReturnValue(true);
    session.run();
    expect(commands).toEqual({ 'list-tube-used': 100 });
    expect(pair.server.isPaused()).toBe(false);
  });

  it('has nothing left to do once it is closed', async () => {
    mayGoOn.mockReturnValue(false);
    const left = jest.spyOn(shares, 'leave');
    await arrives('list-tube-used\r\n'.repeat(100));
    session.run();
    session.close();
    expect(left).toHaveBeenCalledWith(session);
  });
});
