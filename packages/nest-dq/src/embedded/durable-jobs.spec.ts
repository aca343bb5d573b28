import type { Duplex } from 'node:stream';
import { describe, expect, it, jest } from '@jest/globals';
import { restartsOnDisk } from '../../spec-support/restarts-on-disk.js';
import { InProcessNode } from './in-process-node.js';

let node: InProcessNode;

const folder = restartsOnDisk(async (disk, clock) => {
  node = new InProcessNode(clock, disk);
  await node.load();
  return () => node.close();
});

/** Sends commands to a node and resolves with its answers, up to the string `end`. */
function ask(commands: string, end = '\r\n', stream: Duplex = node.dial()): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.endsWith(end)) resolve(text);
    });
    stream.on('error', reject);
    stream.on('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
    stream.write(commands, 'latin1');
  });
}

const put = (body: string, { pri = 0, delay = 0, ttr = 60 } = {}) =>
  `put ${pri} ${delay} ${ttr} ${body.length}\r\n${body}\r\n`;

async function stats(id: number): Promise<Record<string, string>> {
  const text = await ask(`stats-job ${id}\r\n`, '\n\r\n');
  return Object.fromEntries([...text.matchAll(/^([\w-]+): (.*)$/gm)].map(([, key, value]) => [key, value]));
}

describe('a node on a disk, after a restart', () => {
  it('has its jobs, with tube, priority, time to run and any bytes as body', async () => {
    const bytes = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join('');
    await ask(`use mail\r\n${put(bytes, { pri: 7, ttr: 33 })}`, 'INSERTED 1\r\n');
    await folder.restart(5_000);
    expect(await ask('peek 1\r\n', '\xff\r\n')).toBe(`FOUND 1 256\r\n${bytes}\r\n`);
    expect(await stats(1)).toMatchObject({ tube: 'mail', state: 'ready', pri: '7', ttr: '33', age: '5' });
  });

  it('keeps what was put before anything else, even empty', async () => {
    expect(await ask(put(''))).toBe('INSERTED 1\r\n');
    await folder.restart();
    expect(await ask('peek 1\r\n', '\r\n\r\n')).toBe('FOUND 1 0\r\n\r\n');
  });

  it('has nothing on disk of a job that is gone, and gives its id to no other', async () => {
    await ask(put('a', { delay: 5 }) + put('b') + 'kick-job 1\r\n', 'KICKED\r\n');
    await ask('delete 1\r\ndelete 2\r\n', 'DELETED\r\nDELETED\r\n');
    const keys: string[] = [];
    await folder.disk.read('', (key) => keys.push(key));
    expect(keys).toEqual(['last id', 'time']);
    await folder.restart();
    expect(await ask(put('c'))).toBe('INSERTED 3\r\n');
  });

  it('hands out by priority and id as before', async () => {
    await ask(put('late', { pri: 9 }) + put('b', { pri: 1 }) + put('a', { pri: 1 }), 'INSERTED 3\r\n');
    await folder.restart();
    expect(await ask('reserve\r\nreserve\r\nreserve\r\n', 'late\r\n')).toBe(
      'RESERVED 2 1\r\nb\r\nRESERVED 3 1\r\na\r\nRESERVED 1 4\r\nlate\r\n',
    );
  });

  it('keeps the time of delayed jobs', async () => {
    await ask(put('x', { delay: 100 }));
    await folder.restart(40_000);
    expect(await stats(1)).toMatchObject({ state: 'delayed', delay: '100', 'time-left': '60' });
    const reserved = ask('reserve\r\n', 'x\r\n');
    await folder.clock.advance(59_999);
    expect(await stats(1)).toMatchObject({ state: 'delayed' });
    await folder.clock.advance(1);
    expect(await reserved).toBe('RESERVED 1 1\r\nx\r\n');
  });

  it('hands out jobs that came due meanwhile', async () => {
    await ask(put('x', { delay: 100 }));
    await folder.restart(100_000);
    expect(await ask('reserve-with-timeout 0\r\n', 'x\r\n')).toBe('RESERVED 1 1\r\nx\r\n');
  });

  it('has reserved jobs as ready', async () => {
    expect(await ask(put('x') + 'reserve\r\n', 'x\r\n')).toContain('RESERVED 1');
    await folder.restart();
    expect(await ask('reserve-with-timeout 0\r\n', 'x\r\n')).toBe('RESERVED 1 1\r\nx\r\n');
  });

  it('has what was reserved out of its grave or before its time as ready', async () => {
    await ask(
      put('a') + 'reserve\r\nbury 1 0\r\n' + put('b', { delay: 100 }) + 'reserve-job 1\r\nreserve-job 2\r\n',
      'RESERVED 2 1\r\nb\r\n',
    );
    await folder.disk.saved();
    await folder.restart();
    expect(await stats(1)).toMatchObject({ state: 'ready' });
    expect(await stats(2)).toMatchObject({ state: 'ready' });
  });

  it('has the buried in the order of their burials, even after two restarts', async () => {
    await ask(put('a') + put('b') + put('c'), 'INSERTED 3\r\n');
    await ask('reserve\r\nreserve\r\nbury 2 5\r\nbury 1 6\r\n', 'BURIED\r\nBURIED\r\n');
    await folder.restart();
    expect(await stats(2)).toMatchObject({ state: 'buried', pri: '5', buries: '1', reserves: '1' });
    await ask('reserve-job 3\r\nbury 3 0\r\n', 'BURIED\r\n');
    await folder.restart();
    const kick = 'kick 1\r\npeek-ready\r\n';
    expect(await ask(kick, 'b\r\n')).toBe('KICKED 1\r\nFOUND 2 1\r\nb\r\n');
    expect(await ask('delete 2\r\n' + kick, 'a\r\n')).toContain('FOUND 1 1\r\na\r\n');
  });

  it('knows releases and kicks', async () => {
    await ask(put('a') + put('b', { delay: 500 }), 'INSERTED 2\r\n');
    await ask('reserve\r\nrelease 1 8 50\r\nkick-job 2\r\n', 'RELEASED\r\nKICKED\r\n');
    await folder.restart();
    expect(await stats(1)).toMatchObject({ state: 'delayed', pri: '8', 'time-left': '50', releases: '1' });
    expect(await stats(2)).toMatchObject({ state: 'ready', kicks: '1' });
  });

  it('is another instance, so that nobody relies on earlier ids', async () => {
    const { instance } = node;
    await folder.restart();
    expect(node.instance).not.toBe(instance);
  });
});

describe('the replies of a node on a disk', () => {
  /** Holds all writes back until it is let go. */
  function blocked(): { letGo: () => void } {
    let letGo!: () => void;
    const until = new Promise<void>((resolve) => (letGo = resolve));
    const database = folder.disk['database']!;
    const begin = database.batch.bind(database) as () => ReturnType<typeof database.batch>;
    jest.spyOn(database, 'batch').mockImplementation(() => {
      const batch = begin();
      const write = batch.write.bind(batch);
      batch.write = async () => {
        await until;
        await write({ sync: true });
      };
      return batch as never;
    });
    return { letGo };
  }

  const turns = async (count = 20) => {
    for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => folder.clock.soon(resolve));
  };

  function listen(commands: string, stream = node.dial()): { text: string } {
    const heard = { text: '' };
    stream.on('data', (chunk: Buffer) => (heard.text += chunk.toString('latin1')));
    stream.on('error', () => undefined);
    stream.on('close', () => (heard.text += '(closed)'));
    stream.write(commands, 'latin1');
    return heard;
  }

  it('to a change wait for the disk, and later ones too', async () => {
    const { letGo } = blocked();
    const heard = listen(put('x') + 'list-tube-used\r\n');
    await turns();
    expect(heard.text).toBe('');
    letGo();
    await folder.disk.saved();
    await turns();
    expect(heard.text).toBe('INSERTED 1\r\nUSING default\r\n');
  });

  it('to other commands do not wait', async () => {
    await ask(put('x'));
    const { letGo } = blocked();
    const putter = listen(put('y'));
    const reader = listen('reserve\r\ntouch 1\r\ndelete 9\r\n');
    await turns();
    expect(reader.text).toBe('RESERVED 1 1\r\nx\r\nTOUCHED\r\nNOT_FOUND\r\n');
    expect(putter.text).toBe('');
    letGo();
  });

  it('arrive before the end that the client has asked for', async () => {
    const { letGo } = blocked();
    const heard = listen(put('x') + 'quit\r\n');
    const stream = node.dial();
    const halfClosed = listen(put('y'), stream);
    stream.end();
    await turns();
    expect([heard.text, halfClosed.text]).toEqual(['', '']);
    letGo();
    await folder.disk.saved();
    await turns();
    expect([heard.text, halfClosed.text]).toEqual(['INSERTED 1\r\n(closed)', 'INSERTED 2\r\n(closed)']);
  });

  it('that wait take no more memory than a little', async () => {
    await ask(put('z'.repeat(60_000)), 'INSERTED 1\r\n');
    const { letGo } = blocked();
    const heard = listen(put('x') + 'peek 1\r\n'.repeat(100));
    await turns();
    expect(heard.text).toBe('');
    const [session] = [...node['sessions']].slice(-1);
    expect(session!['held']!['size']).toBeLessThan(300_000);
    letGo();
    await eventually(() => heard.text.length > 6_000_000);
    expect(heard.text).toHaveLength(12 + 100 * (60_000 + 17));
  });

  it('are never sent where the disk has failed: the connection ends, and there is no other', async () => {
    folder.disk.add({
      collect: () => {
        throw new Error('no space left');
      },
    });
    const heard = listen(put('x'));
    await folder.disk.saved().catch(() => undefined);
    await turns();
    expect(heard.text).toBe('(closed)');
    await expect(ask('stats\r\n')).rejects.toMatchObject({
      code: 'DQ_DISK',
      message: expect.stringContaining('no space left'),
    });
  });

  async function eventually(isSo: () => boolean): Promise<void> {
    while (!isSo()) await turns(1);
  }
});
