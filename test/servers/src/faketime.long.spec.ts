import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startBeanstalkd, type BeanstalkdServer } from './beanstalkd.js';
import { FakeClock } from './faketime.js';
import { ask } from './wire.js';

const HOUR = 3_600;

let folder: string;
let server: BeanstalkdServer | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'faketime-spec-'));
});

afterEach(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('FakeClock', () => {
  it('jumps for a beanstalkd that runs, or cannot be had', async () => {
    const clock = await FakeClock.make(join(folder, 'clock'));
    if (!clock) return; // not Debian, not root, or no network: then there is nothing to test
    server = await startBeanstalkd({ env: clock.env });
    await ask(server, `put 0 ${HOUR} 60 4\r\nhour`);
    await expect(ask(server, 'reserve-with-timeout 0')).resolves.toBe('TIMED_OUT');
    await clock.jump(HOUR);
    await expect(ask(server, 'reserve-with-timeout 0')).resolves.toBe('RESERVED 1 4\r\nhour');
  });
});
