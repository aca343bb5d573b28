import { describe, expect, it } from '@jest/globals';
import { InProcessNode } from '../embedded/in-process-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import { ClusterNode, type DeleteResult } from './cluster-node.js';
import { parseLocation } from '../copies/location.js';
import { setup, setupUp } from '../../spec-support/cluster-node-setup.js';

describe('ClusterNode: delete', () => {
  /** A server of one process life, with one copy in it. */
  async function withCopy(text = 'mine') {
    const clock = new VirtualClock();
    let server = new InProcessNode(clock);
    const node = new ClusterNode('n1:11300', () => server.dial(), clock);
    node.start();
    await clock.advance(0);
    const store = (body: string) =>
      new Promise<string>((resolve) => {
        node.put({
          tube: 't',
          body: [body],
          priority: 1,
          delay: () => 100,
          done: (_failure, location) => resolve(location),
        });
      });
    const location = await store(text);
    const remove = (place = location) =>
      new Promise<DeleteResult>((resolve) => {
        node.delete(parseLocation(place)!, (body) => body.toString() === 'mine', resolve);
      });
    /** Comes back empty, and counts its copies from 1 again. */
    const restart = async () => {
      const first = node.instance;
      server.close();
      server = new InProcessNode(clock);
      await clock.advance(3_000);
      expect(node.instance).not.toBe(first);
    };
    return { clock, node, store, location, remove, restart };
  }

  it('deletes the copy, once', async () => {
    const { remove } = await withCopy();
    expect(await remove()).toBe('deleted');
    expect(await remove()).toBe('missing');
  });

  it('does not ask the server of the location what the copy is', async () => {
    const { remove } = await withCopy('what isSame would refuse');
    expect(await remove()).toBe('deleted');
  });

  it('finds it missing while someone has it reserved', async () => {
    const { clock, node, location, remove } = await withCopy();
    const lane = node.connectLane(() => undefined)!;
    await lane.ask((done) => lane.reserveJob(parseLocation(location)!.copyId, done));
    expect(await remove()).toBe('missing');
    lane.close();
    await clock.advance(0);
    expect(await remove()).toBe('deleted');
  });

  it('never deletes the innocent job that has the id now', async () => {
    const { store, location, remove, restart } = await withCopy();
    await restart();
    const other = await store('innocent');
    expect(parseLocation(other)!.copyId).toBe(parseLocation(location)!.copyId);
    expect(await remove()).toBe('missing');
    expect(await remove(other)).toBe('deleted'); // so it was there
  });

  it('deletes the copy where a restarted server still has it', async () => {
    const { store, location, remove, restart } = await withCopy();
    await restart();
    const again = await store('mine');
    expect(parseLocation(again)!.copyId).toBe(parseLocation(location)!.copyId);
    expect(await remove(location)).toBe('deleted');
    expect(await remove(again)).toBe('missing');
  });

  it('takes a server that reports no instance for another one each time', async () => {
    const { clock, server, node, put, results } = setup();
    server.answers['stats'] = () => server.ok('max-job-size: 65535');
    server.answers['peek'] = ({ line }) => `FOUND ${line.slice(5)} 8\r\ninnocent`;
    put();
    await clock.advance(0);
    await clock.advance(0);
    const { location } = results[0]!;
    server.cut();
    await clock.advance(100);
    expect(node.up).toBe(true);
    const answers: DeleteResult[] = [];
    node.delete(
      parseLocation(location)!,
      () => false,
      (result) => answers.push(result),
    );
    await clock.advance(0);
    expect(answers).toEqual(['missing']);
    expect(server.words).toEqual(['put', 'peek']);
  });

  it('waits for the first connection', async () => {
    const { clock, server, node } = setup();
    server.answers['delete'] = () => 'DELETED';
    const answers: DeleteResult[] = [];
    const place = { endpoint: 'n1:11300', instance: server.instance, copyId: '5' };
    node.delete(
      place,
      () => true,
      (result) => answers.push(result),
    );
    await clock.advance(0);
    await clock.advance(0);
    expect(answers).toEqual(['deleted']);
  });

  it('is away, at once, where nobody knows the id or the node is known to be down', async () => {
    const { clock, server, node } = await setupUp();
    const answers: DeleteResult[] = [];
    const place = { endpoint: 'n1:11300', instance: server.instance, copyId: '5' };
    node.delete(
      { ...place, copyId: '?' },
      () => true,
      (result) => answers.push(result),
    );
    expect(answers).toEqual(['away']);
    server.refusing = true;
    server.cut();
    await clock.advance(0);
    node.delete(
      place,
      () => true,
      (result) => answers.push(result),
    );
    expect(answers).toEqual(['away', 'away']);
    expect(server.words).toEqual([]);
  });

  it('is away when no answer comes', async () => {
    const { clock, server, node } = await setupUp();
    const answers: DeleteResult[] = [];
    const place = { endpoint: 'n1:11300', instance: server.instance, copyId: '5' };
    node.delete(
      place,
      () => true,
      (result) => answers.push(result),
    );
    node.delete(
      { ...place, instance: 'other' },
      () => true,
      (result) => answers.push(result),
    );
    await clock.advance(500);
    expect(answers).toEqual(['away', 'away']);
  });
});
