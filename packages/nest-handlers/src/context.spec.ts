import { AsyncLocalStorage } from 'node:async_hooks';
import { runInThisContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { detached, RunSignal } from './context.js';

const storage = new AsyncLocalStorage<string>();
const store = () => storage.getStore() ?? 'none';
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('detached', () => {
  it('sees no store of its caller, and neither does what it starts', async () => {
    const seen: string[] = [];
    const note = () => void seen.push(store());
    const returned = storage.run('caller', () =>
      detached(() => {
        note();
        setImmediate(note);
        process.nextTick(note);
        void Promise.resolve().then(note);
        return 'returned';
      }),
    );
    await turn();
    await turn();
    expect([returned, seen]).toEqual(['returned', ['none', 'none', 'none', 'none']]);
  });

  it('leaves the caller its store, even after what it awaits and throws', async () => {
    await storage.run('caller', async () => {
      await detached(turn);
      expect(store()).toBe('caller');
      const failing = () => {
        throw new Error('no');
      };
      expect(() => detached(failing)).toThrow('no');
      expect(store()).toBe('caller');
    });
  });

  it('keeps what is entered in it to itself', async () => {
    const inside = await detached(async () => {
      storage.enterWith('entered');
      await turn();
      return store();
    });
    expect([inside, store(), detached(store)]).toEqual(['entered', 'none', 'none']);
    await turn();
    expect(store()).toBe('none');
  });
});

describe('a signal of a run', () => {
  it('calls its listeners outside of the context that aborts it', () => {
    const run = new RunSignal();
    const seen: string[] = [];
    run.signal.addEventListener('abort', () => seen.push(store()));
    storage.run('aborting', () => run.abort(new Error('over')));
    expect([seen, run.signal.reason]).toEqual([['none'], new Error('over')]);
  });

  it('is aborted from the beginning if it is first read afterwards', () => {
    const run = new RunSignal();
    run.abort('over');
    run.abort('over again');
    expect([run.signal.aborted, run.signal.reason]).toEqual([true, 'over']);
  });

  it('takes any number of listeners without a warning of Node', async () => {
    const node = runInThisContext('process') as NodeJS.Process; // Jest has another, which gets no warnings
    const warnings: string[] = [];
    const warned = ({ name }: Error) => void warnings.push(name);
    node.on('warning', warned);
    try {
      const { signal } = new RunSignal();
      for (let i = 0; i < 100; i++) signal.addEventListener('abort', () => undefined);
      await turn();
      expect(warnings).not.toContain('MaxListenersExceededWarning');
    } finally {
      node.off('warning', warned);
    }
  });
});
