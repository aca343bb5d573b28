import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBeanstalkd, type BeanstalkdServer } from './beanstalkd.js';
import { WireConnection } from './wire.js';

let server: BeanstalkdServer;
beforeAll(async () => void (server = await startBeanstalkd()));
afterAll(() => server.stop());

it('replies to each command in order, and to none at once', async () => {
  const connection = new WireConnection(server);
  await expect(connection.ask([])).resolves.toEqual([]);
  await expect(connection.ask(['use a', 'watch b'])).resolves.toEqual(['USING a', 'WATCHING 2']);
  connection.close();
});
