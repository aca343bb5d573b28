import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBeanstalkd, type BeanstalkdServer } from 'test-servers';
import { countCopies, nodeCounter } from './node-stats.js';
import { askNode, putRaw } from './node-wire.js';

let node: BeanstalkdServer;

beforeAll(async () => {
  node = await startBeanstalkd();
});

afterAll(() => node.stop());

describe('a talk with a beanstalkd', () => {
  it('has a reply for each command, with bodies', async () => {
    const replies = await askNode(node, 'use mine', 'put 0 0 60 6\r\na\r\nb\r\n', 'peek-ready', 'peek 99');
    expect(replies).toEqual([
      'USING mine\r\n',
      'INSERTED 1\r\n',
      'FOUND 1 6\r\na\r\nb\r\n\r\n',
      'NOT_FOUND\r\n',
    ]);
    await askNode(node, 'delete 1');
  });

  it('puts any text, counts what can surface, and reads counters', async () => {
    await putRaw(node, 'mine', 'naïve');
    await expect(askNode(node, 'use mine', 'peek-ready')).resolves.toContain('FOUND 2 6\r\nnaÃ¯ve\r\n');
    await expect(countCopies(node)).resolves.toBe(1);
    await expect(nodeCounter(node, 'cmd-put')).resolves.toBe(2);
    await expect(nodeCounter(node, 'nothing')).rejects.toThrow('no nothing');
  });

  it('counts nothing where nobody answers', async () => {
    const { host, port } = node;
    await expect(countCopies({ host, port: port + 1 })).resolves.toBeUndefined();
  });
});
