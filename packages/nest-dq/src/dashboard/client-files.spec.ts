import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ClientFiles } from './client-files.js';
import type { HttpRequest } from './http.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'client-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

const at = (path: string) => pathToFileURL(join(folder, path, '/'));

function request(headers: HttpRequest['headers'] = {}): HttpRequest {
  return { url: '/dq/', headers, params: {}, query: {}, socket: {} };
}

it('says where the page was expected if it was not built, and finds it once it is', async () => {
  const files = new ClientFiles([at('absent'), at('.')]);
  await expect(files.answer('index.html', request())).rejects.toMatchObject({
    status: 500,
    code: 'NOT_BUILT',
    message: `the dashboard page is missing: expected ${join(folder, 'absent', 'index.html')} or ${join(folder, 'index.html')}`,
  });
  await writeFile(join(folder, 'index.html'), 'the page');
  expect(await files.answer('index.html', request())).toMatchObject({ body: 'the page' });
});

it('reads a file once, and answers a browser that has it with 304', async () => {
  const files = new ClientFiles([at('.')]);
  const path = join(folder, 'dashboard.js');
  await writeFile(path, 'first');
  const { headers, body } = await files.answer('dashboard.js', request());
  expect([headers['Content-Type'], body]).toEqual(['text/javascript; charset=utf-8', 'first']);
  await writeFile(path, 'second');
  const again = await files.answer('dashboard.js', request({ 'if-none-match': headers['ETag'] }));
  expect(again).toMatchObject({ status: 304, body: '' });
  expect(await files.answer('dashboard.js', request({ 'if-none-match': '"old"' }))).toMatchObject({
    body: 'first',
  });
});

it('lets browsers keep the file of a page, and answers 404 for one of another version', async () => {
  const files = new ClientFiles([at('.')]);
  await mkdir(join(folder, 'pages'));
  await writeFile(join(folder, 'pages', 'dead-page-0A1B2C3D.js'), 'dead letters');
  const { headers, body } = await files.answer('pages/dead-page-0A1B2C3D.js', request());
  expect(body).toBe('dead letters');
  expect(headers['Cache-Control']).toBe('private, max-age=31536000, immutable');
  await expect(files.answer('pages/dead-page-00000000.js', request())).rejects.toMatchObject({ status: 404 });
});

it('does not take a folder that cannot be read for one without the page', async () => {
  await writeFile(join(folder, 'file'), '');
  const files = new ClientFiles([new URL('inside/', at('file'))]);
  await expect(files.answer('index.html', request())).rejects.toMatchObject({ code: 'ENOTDIR' });
});
