import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startNestDqServer, type NestDqServer } from './nest-dq-server.js';
import { nodeCopies, putRaw } from './wire.js';

const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'packages', 'nest-dq', 'bin', 'nest-dq.js');
let server: NestDqServer;

afterEach(() => server.stop());

describe('startNestDqServer', () => {
  it.each([
    [true, 1],
    [false, 0],
  ])('starts one that answers; with a folder: %s, it has %i jobs after a kill', async (folder, kept) => {
    server = await startNestDqServer(PROGRAM, { folder });
    await putRaw(server, 'tube', 'x');
    expect(await nodeCopies(server)).toEqual({ live: 1, buried: 0 });
    await server.kill();
    await server.restart();
    expect(await nodeCopies(server)).toEqual({ live: kept, buried: 0 });
  });

  it('says what it said when it does not start', async () => {
    server = await startNestDqServer(PROGRAM);
    await expect(startNestDqServer('no-program.js')).rejects.toThrow(
      /nest-dq serve exited.*Cannot find module/s,
    );
  });
});
