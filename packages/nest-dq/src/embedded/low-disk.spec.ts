import { beforeEach, expect, it } from '@jest/globals';
import { folderOfTest } from '../../spec-support/folder-of-test.js';
import { Talker } from '../../spec-support/talker.js';
import { Disk } from '../disk/disk.js';
import { InProcessNode } from './in-process-node.js';

const folder = folderOfTest();
const put = (body: string) => `put 0 0 60 ${body.length}\r\n${body}\r\n`;

let free: number;
let warnings: string[];

beforeEach(() => {
  free = 1e9;
  warnings = [];
});

async function begin() {
  const warn = (message: string) => void warnings.push(message);
  const disk = await Disk.open(folder.dir, folder.clock, { patience: 0, warn, freeOf: async () => free });
  disk.space.watch();
  const node = new InProcessNode(folder.clock, disk);
  await node.load();
  const talker = new Talker(folder.clock, node);
  /** Also waits for what is on its way to the disk. */
  const says = async (bytes: string) => {
    const early = await talker.says(bytes);
    await disk.saved();
    return early + (await talker.hears());
  };
  const close = async () => {
    node.close();
    await disk.close();
  };
  return { says, close };
}

it('a node low on disk space accepts no job until there is room, and everything else still works', async () => {
  const first = await begin();
  expect(await first.says(put('a') + put('b') + put('c'))).toBe('INSERTED 1\r\nINSERTED 2\r\nINSERTED 3\r\n');
  free = 1e6;
  await folder.clock.advance(5_000);
  expect(await first.says(put('d') + put('e'))).toBe('OUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\n');
  expect(
    await first.says('reserve\r\nrelease 1 5 9\r\nreserve\r\nbury 2 0\r\nreserve\r\ndelete 3\r\nkick 1\r\n'),
  ).toBe(
    'RESERVED 1 1\r\na\r\nRELEASED\r\nRESERVED 2 1\r\nb\r\nBURIED\r\nRESERVED 3 1\r\nc\r\nDELETED\r\nKICKED 1\r\n',
  );
  await first.close();

  const second = await begin();
  expect(await second.says(put('f'))).toBe('OUT_OF_MEMORY\r\n'); // from its first moment
  expect(await second.says('peek 1\r\npeek 2\r\npeek 3\r\n')).toBe(
    'FOUND 1 1\r\na\r\nFOUND 2 1\r\nb\r\nNOT_FOUND\r\n',
  );
  free = 1e9;
  await folder.clock.advance(5_000);
  expect(await second.says(put('g'))).toMatch(/^INSERTED \d+\r\n$/);
  await second.close();
  expect(warnings.map((each) => /new jobs are rejected|new jobs are accepted again/.exec(each)?.[0])).toEqual(
    ['new jobs are rejected', 'new jobs are rejected', 'new jobs are accepted again'],
  );
});
