import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DqTestKit } from 'nest-dq/testing';
import { TestApp } from '../../test/test-app.js';
import { Mailer } from '../mail/mailer.js';
import { UsersService } from './users.service.js';

describe('UsersService', () => {
  const kit = new DqTestKit();
  let app: TestApp;
  let users: UsersService;

  beforeAll(async () => {
    app = await TestApp.start({ WELCOME_SECONDS: '60' }, kit);
    users = app.nest.get(UsersService);
  });

  afterAll(async () => {
    await app.close();
    await kit.close();
  });

  const subjectsTo = (address: string) =>
    app.nest
      .get(Mailer)
      .sent()
      .filter(({ to }) => to === address)
      .map(({ subject }) => subject);

  it('sends a welcome mail a minute after a registration, and only one', async () => {
    await users.register({ name: 'Ann', email: 'ann@once.example' });
    await kit.advance('59s');
    expect(subjectsTo('ann@once.example')).toEqual([]);
    await kit.advance('1h');
    expect(subjectsTo('ann@once.example')).toEqual(['Welcome, Ann!']);
  });

  it('sends a newsletter as often as a user likes, until they unsubscribe', async () => {
    const { id } = await users.register({ name: 'Dee', email: 'dee@news.example' });
    await kit.advance('1m');
    await users.subscribe(id, { every: '1d' });
    await kit.advance('2d');
    expect(subjectsTo('dee@news.example')).toEqual(['Welcome, Dee!', 'News for Dee', 'News for Dee']);
    await users.subscribe(id, { every: '7d' });
    await kit.advance('7d');
    await users.unsubscribe(id);
    await kit.advance('30d');
    expect(subjectsTo('dee@news.example')).toHaveLength(4);
    await expect(users.subscribe('nobody', { every: '1d' })).rejects.toThrow('no user nobody');
  });

  it('sends it later when the mail server is busy, and gives up when there is no mailbox', async () => {
    await users.register({ name: 'Cy', email: 'cy@gone.example' });
    await users.register({ name: 'Bob', email: 'bob@busy.example' });
    await kit.advance('1m');
    expect(subjectsTo('bob@busy.example')).toEqual([]);
    await kit.advance('1h');
    expect(subjectsTo('bob@busy.example')).toEqual(['Welcome, Bob!']);
    expect(subjectsTo('cy@gone.example')).toEqual([]);
  });
});
