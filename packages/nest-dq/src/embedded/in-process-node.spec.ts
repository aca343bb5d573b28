import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { VirtualClock } from 'nest-handlers/testing';
import { Talker } from '../../spec-support/talker.js';
import { InProcessNode } from './in-process-node.js';

describe('InProcessNode', () => {
  let clock: VirtualClock;
  let node: InProcessNode;

  beforeEach(() => {
    clock = new VirtualClock();
    node = new InProcessNode(clock);
  });

  afterEach(() => node.close());

  const talker = () => new Talker(clock, node);
  const put = (delay: number, ttr = 60) => `put 0 ${delay} ${ttr} 1\r\nx\r\n`;

  describe('replies', () => {
    it('are written once a turn, whatever has been asked', async () => {
      const [a, b] = [talker(), talker()];
      await b.says('reserve\r\nlist-tube-used\r\nreserve\r\nlist-tube-used\r\n');
      a.stream.write(put(0) + put(0) + put(0));
      expect(await a.hearsChunks()).toEqual(['INSERTED 1\r\nINSERTED 2\r\nINSERTED 3\r\n']);
      expect(await b.hearsChunks()).toEqual([
        'RESERVED 1 1\r\nx\r\nUSING default\r\nRESERVED 2 1\r\nx\r\nUSING default\r\n',
      ]);
    });
  });

  describe('time', () => {
    it('makes a delayed job ready in its very millisecond', async () => {
      const [a, b] = [talker(), talker()];
      await a.says(put(2));
      await b.says('reserve\r\n');
      await clock.advance(1999);
      expect(await b.hears()).toBe('');
      await clock.advance(1);
      expect(await b.hears()).toBe('RESERVED 1 1\r\nx\r\n');
    });

    it('keeps the longest delay there is', async () => {
      const a = talker();
      await a.says(put(4_294_967_295));
      await clock.advance(4_294_967_295_000 - 1);
      expect(await a.says('peek-ready\r\n')).toBe('NOT_FOUND\r\n');
      await clock.advance(1);
      expect(await a.says('peek-ready\r\n')).toBe('FOUND 1 1\r\nx\r\n');
    });

    it('ends a wait after its timeout, and prefers a job that is due in the same millisecond', async () => {
      const [a, b] = [talker(), talker()];
      await a.says('reserve-with-timeout 1\r\n');
      await clock.advance(999);
      expect(await a.hears()).toBe('');
      await clock.advance(1);
      expect(await a.hears()).toBe('TIMED_OUT\r\n');
      await a.says('reserve-with-timeout 1\r\n');
      await b.says(put(1));
      await clock.advance(1000);
      expect(await a.hears()).toBe('RESERVED 1 1\r\nx\r\n');
    });

    it('is reported in whole seconds', async () => {
      const a = talker();
      await a.says(put(100));
      await clock.advance(40_500);
      const stats = await a.says('stats-job 1\r\n');
      expect(stats).toContain('\nage: 40\ndelay: 100\nttr: 60\ntime-left: 59\n');
      expect(await a.says('stats\r\n')).toContain('\nuptime: 40\n');
    });

    it('needs one timer for all jobs, and none for none', async () => {
      const after = jest.spyOn(clock, 'after');
      const a = talker();
      await a.says(Array.from({ length: 500 }, (_, index) => put(100 + index)).join(''));
      await a.says(Array.from({ length: 500 }, (_, index) => put(100 + index)).join(''));
      expect(after).toHaveBeenCalledTimes(1);
      await a.says(Array.from({ length: 1000 }, (_, index) => `delete ${index + 1}\r\n`).join(''));
      after.mockClear();
      await clock.advance(1_000_000);
      expect(after).not.toHaveBeenCalled();
    });
  });

  describe('connections', () => {
    it('that do not read their replies have their commands wait', async () => {
      const [a, b] = [talker(), talker()];
      const body = 'x'.repeat(60_000);
      await a.says(`put 0 0 60 60000\r\n${body}\r\n`);
      a.stream.pause();
      await a.says('peek 1\r\n'.repeat(1000));
      const done = Number(/\ncmd-peek: (\d+)\n/.exec(await b.says('stats\r\n'))?.[1]);
      expect(done).toBeLessThan(10);
      a.stream.resume();
      let bytes = 0;
      while (bytes < 1000 * body.length) bytes += (await a.hears()).length;
      expect(await b.says('stats\r\n')).toContain('\ncmd-peek: 1000\n');
    });

    it('that send much after a waiting reserve are held back', async () => {
      const [a, b] = [talker(), talker()];
      const commands = 'list-tube-used\r\n'.repeat(100_000);
      a.stream.write('reserve\r\n');
      a.stream.write(commands);
      a.stream.write(commands);
      await a.hears();
      expect(a.stream.writableNeedDrain).toBe(true);
      await b.says(put(0));
      let replies = '';
      while (!replies.endsWith(`RESERVED 1 1\r\nx\r\n${'USING default\r\n'.repeat(200_000)}`))
        replies += await a.hears();
    });

    it('yield to others after 16 KB, even where these hold no line', async () => {
      const mayGoOn = jest.spyOn(node.shares, 'mayGoOn');
      const a = talker();
      await a.says('x'.repeat(16 * 1024 - 1));
      expect(mayGoOn).not.toHaveBeenCalled();
      await a.says('x'.repeat(16 * 1024));
      expect(mayGoOn).toHaveBeenCalledTimes(1);
    });

    describe('many of which ask endlessly', () => {
      const ASKED = 2_000;
      const [asks, flood] = ['list-tube-used\r\n'.repeat(ASKED), 'x'.repeat(65_536)];

      beforeEach(() => {
        let now = 0;
        jest.spyOn(clock, 'now').mockImplementation(() => (now += 0.25)); // each look takes as long
      });

      /** How many of their commands the node has done. */
      async function done(talker: Talker): Promise<number> {
        return Number(/\ncmd-list-tube-used: (\d+)\n/.exec(await talker.says('stats\r\n'))?.[1]);
      }

      function begin(count: number, bytes: string): Talker[] {
        const greedy = Array.from({ length: count }, () => talker());
        for (const { stream } of greedy) stream.write(bytes);
        return greedy;
      }

      it.each([3, 30])('do not keep one who comes later waiting: %i of them', async (count) => {
        begin(count, asks);
        await clock.advance(0);
        const before = await done(talker());
        const after = await done(talker());
        // Between the two are ten rounds of the event loop, each of which resumes one: 8 looks, each after 8 commands.
        expect(after - before).toBeGreaterThan(500);
        expect(after - before).toBeLessThan(2_000);
      });

      it('get all their replies', async () => {
        const greedy = begin(5, asks);
        const heard = greedy.map(() => '');
        while (heard.some((replies) => replies.length < ASKED * 'USING default\r\n'.length)) {
          for (const [index, talker] of greedy.entries()) heard[index] += await talker.hears();
        }
        expect(new Set(heard)).toEqual(new Set(['USING default\r\n'.repeat(ASKED)]));
      });

      it('are not read while others come first', async () => {
        const [a] = begin(30, asks);
        await clock.advance(0);
        a!.stream.write(flood);
        await clock.advance(0);
        expect(a!.stream.writableNeedDrain).toBe(true);
      });

      it('are seen to leave when a reserve of theirs waits', async () => {
        const greedy = begin(5, `${asks}reserve\r\n`);
        const last = talker();
        const waiting = async () => /\ncurrent-waiting: (\d)\n/.exec(await last.says('stats\r\n'))?.[1];
        while ((await waiting()) !== '5');
        for (const { stream } of greedy) stream.end();
        expect(await waiting()).toBe('0');
      });
    });
  });

  describe('the node', () => {
    it('reports its instance, a new one for each', async () => {
      const other = new InProcessNode(clock);
      expect(node.instance).toMatch(/^[0-9a-f]{16}$/);
      expect(other.instance).not.toBe(node.instance);
      expect(await talker().says('stats\r\n')).toContain(`\nid: ${node.instance}\n`);
      other.close();
    });

    it('reports the processor time that its process has used', async () => {
      const cpuUsage = jest
        .spyOn(process, 'cpuUsage')
        .mockReturnValue({ user: 3_000_007, system: 1_500_000 });
      const stats = await talker().says('stats\r\n');
      expect(stats).toContain('\nrusage-utime: 3.000007\nrusage-stime: 1.500000\n');
      cpuUsage.mockRestore();
    });

    it('cuts its connections and stops its timer when it is closed, once or twice', async () => {
      const cancel = jest.fn();
      const after = jest.spyOn(clock, 'after').mockReturnValue({ cancel });
      const [a, b] = [talker(), talker()];
      await a.says(`${put(0, 5)}${put(1)}reserve\r\n`);
      await b.says('reserve\r\n');
      const closed = [once(a.stream, 'close'), once(b.stream, 'close')];
      node.close();
      node.close();
      await Promise.all(closed);
      await clock.advance(10_000);
      expect(await b.hears()).toBe('');
      expect(after).toHaveBeenCalledTimes(1);
      expect(cancel).toHaveBeenCalled();
    });

    it('refuses connections once it is closed', async () => {
      node.close();
      const [error] = await once(node.dial(), 'error');
      expect(error).toMatchObject({ code: 'DQ_CLOSED' });
    });
  });
});
