import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from 'test-servers';
import { Example } from '../test/example.js';

jest.setTimeout(180_000);

let example: Example;
beforeAll(async () => {
  example = await Example.byCommand('reminders', {});
});
afterAll(() => example.remove());

/** The calls of one tenant. */
function tenant(name: string) {
  const request = (method: string, path: string, body?: object) =>
    example.request(method, path, body, { 'x-tenant': name });
  const sent = async () => {
    const { body } = await request('GET', '/reminders/sent');
    return body as { text: string; from: number; until: number }[];
  };
  return {
    request,
    sent,
    async remind(text: string, seconds: number): Promise<string> {
      const { status, body } = await request('POST', '/reminders', { text, seconds });
      expect([status, body.text]).toEqual([201, text]);
      return body.id as string;
    },
    hasSent: (...texts: string[]) =>
      eventually(`${name} has sent ${texts.join(', ')}`, async () => {
        const mails = await sent();
        return texts.every((text) => mails.some((mail) => mail.text === text));
      }),
  };
}

const acme = tenant('acme');
const globex = tenant('globex');

describe('reminders', () => {
  it.each(['initech', ''])('refuses the tenant %j', async (name) => {
    expect((await tenant(name).request('GET', '/reminders/sent')).status).toBe(403);
  });

  it('sends those of one tenant one at a time, and shows them to nobody else', async () => {
    await Promise.all(['one', 'two', 'three'].map((text) => acme.remind(text, 1)));
    await globex.remind('four', 1);
    await acme.hasSent('one', 'two', 'three');
    await globex.hasSent('four');
    expect((await globex.sent()).map(({ text }) => text)).toEqual(['four']);
    const mails = (await acme.sent()).toSorted((a, b) => a.from - b.from);
    expect(mails).toHaveLength(3);
    for (const [index, { from }] of mails.entries())
      if (index > 0) expect(from).toBeGreaterThanOrEqual(mails[index - 1]!.until);
  });

  it('moves a reminder, and undoes another', async () => {
    const moved = await acme.remind('moved', 3_600);
    const undone = await acme.remind('undone', 2);
    expect((await acme.request('PATCH', `/reminders/${moved}`, { seconds: 3 })).status).toBe(200);
    expect((await acme.request('DELETE', `/reminders/${undone}`)).status).toBe(200);
    await acme.hasSent('moved'); // so the time of the other one has passed, too
    expect((await acme.sent()).map(({ text }) => text)).not.toContain('undone');
    expect((await acme.request('DELETE', `/reminders/${moved}`)).status).toBe(409);
  });

  it('does not let a tenant undo a reminder of another', async () => {
    const id = await acme.remind('mine', 2);
    expect((await globex.request('DELETE', `/reminders/${id}`)).status).toBe(409);
    await acme.hasSent('mine');
  });

  it('answers 400 to a time that is none', async () => {
    const { status, body } = await acme.request('POST', '/reminders', { text: 'x', seconds: 'soon' });
    expect([status, body.message]).toEqual([400, expect.stringContaining('numeric')]);
  });

  it('sends nothing for an account that was closed meanwhile', async () => {
    await globex.remind('too late', 2);
    expect((await globex.request('POST', '/reminders/close-account')).status).toBe(201);
    await eventually('the guard has refused the job', () =>
      example.output.some((line) => line.includes('the account of globex is closed')),
    );
  });
});
