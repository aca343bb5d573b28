import { describe, expect, it, jest } from '@jest/globals';
import { DqHealth, DqProducer } from 'nest-dq';
import { DqControl, DqInspector, type BulkProgress } from 'nest-dq/operate';
import { PLATFORMS, ServedApp } from './served-app.js';

/** Reads the events of a stream, one after the other. */
class Viewer {
  private rest = '';
  private readonly decoder = new TextDecoder();

  private constructor(
    readonly headers: Headers,
    private readonly reader: ReadableStreamDefaultReader<Uint8Array>,
  ) {}

  static async join(served: ServedApp): Promise<Viewer> {
    const response = await fetch(`${served.origin}/dq/api/live`);
    return new Viewer(response.headers, response.body!.getReader());
  }

  /** The data of the next event `state`, or undefined once the stream has ended. */
  async state(): Promise<any> {
    for (;;) {
      const end = this.rest.indexOf('\n\n');
      if (end >= 0) {
        const event = this.rest.slice(0, end);
        this.rest = this.rest.slice(end + 2);
        const found = /^event: state\ndata: (.*)$/.exec(event);
        if (found) return JSON.parse(found[1]!);
        continue;
      }
      const { done, value } = await this.reader.read();
      if (done) return undefined;
      this.rest += this.decoder.decode(value, { stream: true });
    }
  }
}

describe.each(PLATFORMS)('with %s', (platform) => {
  it('sends all viewers the present state at once, and then each new one, from one look at the cluster', async () => {
    const served = await ServedApp.start({ platform });
    await served.app.get(DqProducer).delay('orders', {}, '1h');
    const looks = jest.spyOn(served.app.get(DqInspector), 'tubes');
    const first = await Viewer.join(served);
    expect(first.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(first.headers.get('cache-control')).toBe('no-store, no-transform');
    const state = await first.state();
    expect(state).toMatchObject({
      tubes: { tubes: [{ tube: 'orders', waiting: 1 }] },
      nodes: [{ endpoint: 'embedded', up: true }],
      ledger: { kind: 'memory' },
      processes: [{ pid: process.pid }],
      health: { status: 'up' },
      problems: { level: 'warning', cluster: [], tubes: [{ code: 'no-consumer', tube: 'orders', jobs: 1 }] },
    });
    expect(state).not.toHaveProperty('errors');
    const others = [await Viewer.join(served), await Viewer.join(served)];
    // One who comes between two looks does not wait for the next one.
    for (const viewer of others) expect(await viewer.state()).toEqual(state);
    expect(looks).toHaveBeenCalledTimes(1);
    await served.app.get(DqProducer).delay('orders', {}, '1h');
    for (const viewer of [first, ...others])
      expect(await viewer.state()).toMatchObject({ tubes: { tubes: [{ waiting: 2 }] } });
    expect(looks).toHaveBeenCalledTimes(2);
  });

  it('a part that cannot be read is null, with the reason, and the others are sent', async () => {
    const served = await ServedApp.start({ platform });
    jest.spyOn(served.app.get(DqInspector), 'processes').mockRejectedValue(new Error('no answer'));
    jest.spyOn(served.app.get(DqHealth), 'check').mockRejectedValue(new Error('not well'));
    const state = await (await Viewer.join(served)).state();
    expect(state).toMatchObject({
      processes: null,
      health: null,
      tubes: { tubes: [] },
      problems: { cluster: [], tubes: [] },
      errors: { processes: 'no answer', health: 'not well' },
    });
  });

  it('a shutdown ends the streams of viewers, and acts on many after their page', async () => {
    const served = await ServedApp.start({ platform });
    async function* endless(): AsyncGenerator<BulkProgress<never>, void, undefined> {
      for (let done = 0; ; done++) {
        yield { done, failed: 0, skipped: 0, failures: [], examples: [] };
        await new Promise(setImmediate); // others get their turn, as with servers
      }
    }
    served.app.get(DqControl).revokeMany = endless;
    const viewer = await Viewer.join(served);
    expect(await viewer.state()).toBeDefined();
    const act = await served.begin('/dq/api/acts/revokeMany', { tube: 'orders', filter: {} });
    const lines = act.text();
    await served.app.close();
    while ((await viewer.state()) !== undefined); // it may have got another one
    expect(JSON.parse((await lines).trimEnd().split('\n').at(-1)!)).toEqual({
      error: { code: 'DQ_CLOSED', message: expect.stringContaining('shutting down') },
    });
  });

  it('an application whose ledger and nodes are away starts, and reports that', async () => {
    const dq = { beanstalks: ['127.0.0.1:1'], redis: 'redis://127.0.0.1:1', patience: 0 };
    const served = await ServedApp.start({ platform, dq });
    const health = await served.get('/dq/api/health');
    expect(health.json).toMatchObject({ status: 'down', redis: 'down' });
    expect((await served.get('/dq/api/tubes')).json).toEqual({
      tubes: [],
      more: false,
      away: ['127.0.0.1:1'],
    });
    for (const answer of [
      await served.get('/dq/api/processes'),
      await served.get('/dq/api/tubes/orders/jobs'),
      await served.get('/dq/api/tubes/orders/dead'),
      await served.get('/dq/api/job/payload?tube=orders&key=k'),
      await served.post('/dq/api/acts/pause', { tube: 'orders' }),
      await served.post('/dq/api/acts/discardMany', { tube: 'orders', filter: {} }),
    ]) {
      expect([answer.status, answer.json]).toEqual([
        503,
        { code: 'DQ_LEDGER_DOWN', message: expect.stringContaining('DQ_LEDGER_DOWN: ') },
      ]);
    }
    const state = await (await Viewer.join(served)).state();
    expect(state).toMatchObject({ health: { status: 'down' }, ledger: { up: false }, processes: null });
    expect(state.problems).toMatchObject({
      level: 'failure',
      cluster: [
        { code: 'ledger-down', cause: 'refused', address: '127.0.0.1:1' },
        { code: 'too-few-nodes', up: 0, total: 1, nodes: [{ node: '127.0.0.1:1', cause: 'refused' }] },
      ],
    });
  });
});
