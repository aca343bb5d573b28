import { describe, expect, it } from '@jest/globals';
import type { Pushed } from '../api/message.js';
import type { KqMessage } from '../api/received.js';
import { handlerHook, pushHooks, type KqHooks } from './hooks.js';

/** A hook that notes when it is at work. */
const noting = (name: string, notes: string[]): KqHooks => ({
  onPush: (headers, { topic, key }) => void (headers[name] = `${topic} ${String(key)}`),
  async aroundPush(call, next) {
    notes.push(`${name} before`);
    const result = await next();
    notes.push(`${name} after ${call.count}`);
    return result;
  },
  aroundHandler(run, next) {
    notes.push(`${name} before ${run.group}`);
    return `${name}(${String(next())})`;
  },
});

describe('hooks', () => {
  it('are put around pushes and handlers, the first outermost', async () => {
    const notes: string[] = [];
    const hooks = [noting('a', notes), {}, noting('b', notes)];
    const { onPush, aroundPush } = pushHooks(hooks);
    const headers: Record<string, string> = {};
    onPush!(headers, { topic: 'orders', key: 'k' });
    expect(headers).toEqual({ a: 'orders k', b: 'orders k' });
    const pushed: Pushed = { topic: 'orders', partition: 0, offset: '0' };
    const call = { topic: 'orders', count: 1, many: false };
    expect(await aroundPush!(call, async () => pushed)).toBe(pushed);
    expect(notes.splice(0)).toEqual(['a before', 'b before', 'b after 1', 'a after 1']);
    const run = { group: 'shop', messages: [] as KqMessage[], batch: false };
    expect(handlerHook(hooks)!(run, () => 'done')).toBe('a(b(done))');
    expect(notes).toEqual(['a before shop', 'b before shop']);
  });

  it('are absent where there is nothing to call', () => {
    const none: KqHooks[] = [{ onStart: () => undefined }];
    expect(pushHooks(none)).toEqual({});
    expect(handlerHook(none)).toBeUndefined();
  });
});
