import { get } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  Module,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { DqEvents, DqProducer } from 'nest-dq';
import { DqInspector, type OperatorAct } from 'nest-dq/operate';
import type { DqDashboardAccess } from 'nest-dq/dashboard';
import { PLATFORMS, ServedApp } from './served-app.js';

@Injectable()
class Passwords {
  isRight(given: string | undefined): boolean {
    return given === 'open sesame';
  }
}

@Module({ providers: [Passwords], exports: [Passwords] })
class PasswordModule {}

@Injectable()
class PasswordGuard implements CanActivate {
  constructor(private readonly passwords: Passwords) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    return this.passwords.isRight(request.headers['x-password']);
  }
}

const ROUTES = ['', '/', '/dashboard.js', '/api/session', '/api/tubes', '/api/live', '/api/acts'];
const PAUSE = '/dq/api/acts/pause';

async function isPaused({ app }: ServedApp, tube: string): Promise<boolean> {
  return (await app.get(DqInspector).tube(tube)).paused !== undefined;
}

/** `fetch` sends no other host than that of the address. */
function statusFor({ origin }: ServedApp, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(`${origin}/dq/api/session`, { headers: { host }, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject);
  });
}

function withAccess(platform: (typeof PLATFORMS)[number], access: DqDashboardAccess): Promise<ServedApp> {
  return ServedApp.start({ platform, dashboard: { access: () => access } });
}

describe.each(PLATFORMS)('with %s', (platform) => {
  it('a guard with dependencies of its own refuses each route', async () => {
    const dashboard = { guards: [PasswordGuard], imports: [PasswordModule] };
    const served = await ServedApp.start({ platform, dashboard });
    for (const route of ROUTES)
      expect([route, (await served.get(`/dq${route}`)).status]).toEqual([route, 403]);
    expect((await served.post(PAUSE, { tube: 'mails' })).status).toBe(403);
    expect(await isPaused(served, 'mails')).toBe(false);
    const right = { 'x-password': 'open sesame' };
    expect((await served.get('/dq/api/session', right)).status).toBe(200);
    expect((await served.post(PAUSE, { tube: 'mails' }, right)).status).toBe(200);
    expect(await isPaused(served, 'mails')).toBe(true);
  });

  it('without guards and access, a name of another site that leads to this machine is refused', async () => {
    const open = await ServedApp.start({ platform });
    expect(await statusFor(open, 'localhost:3000')).toBe(200);
    expect(await statusFor(open, 'rebound.example:3000')).toBe(403);
    const closed = await withAccess(platform, 'read');
    expect(await statusFor(closed, 'rebound.example:3000')).toBe(200);
  });

  it('a guard of the whole application refuses them, too', async () => {
    const prepare = (app: ServedApp['app']) => app.useGlobalGuards({ canActivate: () => false });
    const served = await ServedApp.start({ platform, prepare });
    for (const route of ROUTES)
      expect([route, (await served.get(`/dq${route}`)).status]).toEqual([route, 403]);
  });

  it('a viewer with the access `none` sees nothing', async () => {
    const served = await withAccess(platform, 'none');
    for (const route of ROUTES) {
      const { status, json } = await served.get(`/dq${route}`);
      expect([route, status, json.code]).toEqual([route, 403, 'NOT_ALLOWED']);
    }
  });

  it('a viewer with the access `read` reads, but does nothing and sees no payload', async () => {
    const served = await withAccess(platform, 'read');
    const { ref } = await served.app.get(DqProducer).delay('mails', { secret: 'xyzzy' }, '1h');
    expect((await served.get('/dq/api/session')).json).toMatchObject({ acts: [], payloads: false });
    expect((await served.get(`/dq/api/job?ref=${ref}`)).json).toMatchObject({ state: 'waiting' });
    const refused = await served.get(`/dq/api/job/payload?ref=${ref}`);
    expect([refused.status, refused.json.code, refused.text.includes('xyzzy')]).toEqual([
      403,
      'NOT_ALLOWED',
      false,
    ]);
    const act = await served.post(PAUSE, { tube: 'mails' });
    expect([act.status, act.json]).toEqual([
      403,
      { code: 'NOT_ALLOWED', message: 'this viewer may not perform pause' },
    ]);
    expect(await isPaused(served, 'mails')).toBe(false);
  });

  it('a viewer with named acts does these and no others, and is reported by name', async () => {
    const served = await withAccess(platform, { acts: ['pause', 'revoke'], by: 'ann@example.org' });
    const operated: OperatorAct[] = [];
    served.app
      .get(DqEvents)
      .on('operated')
      .subscribe((act) => void operated.push(act));
    const { ref, id } = await served.app.get(DqProducer).delay('mails', {}, '1h');
    expect((await served.get('/dq/api/session')).json).toMatchObject({ acts: ['pause', 'revoke'] });
    expect((await served.post(PAUSE, { tube: 'mails' })).status).toBe(200);
    expect((await served.post('/dq/api/acts/revoke', { ref })).json).toEqual({ result: 'revoked' });
    expect((await served.post('/dq/api/acts/resume', { tube: 'mails' })).status).toBe(403);
    expect((await served.post('/dq/api/acts/revokeMany', { tube: 'mails', filter: {} })).status).toBe(403);
    expect(await isPaused(served, 'mails')).toBe(true);
    expect(operated).toEqual([
      { by: 'ann@example.org', act: 'pause', on: { tube: 'mails' }, count: 1 },
      { by: 'ann@example.org', act: 'revoke', on: { tube: 'mails', id }, count: 1 },
    ]);
    expect((await served.get('/dq/api/acts')).json).toEqual({
      acts: operated.toReversed().map((act) => ({ ...act, id: expect.any(String), at: expect.any(String) })),
    });
  });

  it('`readOnly` holds on the server, whatever `access` says', async () => {
    const access = () => ({ acts: 'all', payloads: true }) as const;
    const served = await ServedApp.start({ platform, dashboard: { access, readOnly: true } });
    expect((await served.get('/dq/api/session')).json).toMatchObject({ acts: [], payloads: true });
    expect((await served.post(PAUSE, { tube: 'mails' })).status).toBe(403);
    expect(await isPaused(served, 'mails')).toBe(false);
  });

  it('what `access` throws is answered as any error of the application is', async () => {
    const access = () => Promise.reject(new UnauthorizedException('who are you'));
    const served = await ServedApp.start({ platform, dashboard: { access } });
    const { status, json } = await served.get('/dq/api/tubes');
    expect([status, json.message]).toEqual([401, 'who are you']);
  });

  it.each([
    [undefined],
    ['write'],
    [{ acts: ['fly'] }],
    [{ acts: [undefined] }],
    [{ acts: 'all', payloads: 'yes' }],
    [{ acts: 'all', by: '' }],
  ])('an `access` that returns %j lets nobody in', async (answer) => {
    const served = await withAccess(platform, answer as DqDashboardAccess);
    expect((await served.get('/dq/api/tubes')).status).toBe(500);
    expect((await served.post(PAUSE, { tube: 'mails' })).status).toBe(500);
    expect(await isPaused(served, 'mails')).toBe(false);
  });
});
