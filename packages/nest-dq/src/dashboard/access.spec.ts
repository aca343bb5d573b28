import { expect, it } from '@jest/globals';
import { refuseElsewhere } from './access.js';
import type { HttpRequest } from './http.js';

function request(remoteAddress: string | undefined, host: string | undefined): HttpRequest {
  return { url: '/dq/', headers: { host }, params: {}, query: {}, socket: { remoteAddress } };
}

it.each([
  ['127.0.0.1', 'localhost:3000'],
  ['::ffff:127.0.0.1', '127.0.0.1:3000'],
  ['::1', '[::1]:3000'],
  ['::1', 'LOCALHOST'],
])('from %s to the host %s is from this machine', (address, host) => {
  expect(() => refuseElsewhere(request(address, host))).not.toThrow();
});

it.each([
  ['x-forwarded-for', '203.0.113.7'],
  ['x-forwarded-host', 'shop.example'],
  ['forwarded', 'for=203.0.113.7'],
  ['via', '1.1 proxy'],
  ['x-real-ip', '203.0.113.7'],
  ['origin', 'https://shop.example'],
  ['origin', 'null'],
  ['referer', 'https://shop.example/dq/'],
])(
  'with the header %s: %s it is from elsewhere, though a proxy on this machine asks by localhost',
  (name, value) => {
    const asked = request('127.0.0.1', 'localhost:3000');
    const proxied = { ...asked, headers: { ...asked.headers, [name]: value } };
    expect(() => refuseElsewhere(proxied)).toThrow(
      `the header ${name}: ${JSON.stringify(value)} shows that the request comes from another machine`,
    );
    expect(() => refuseElsewhere(proxied)).toThrow(/set `access` or `guards`/);
  },
);

it('with the headers of a browser on this machine it is from here', () => {
  const asked = request('127.0.0.1', 'localhost:3000');
  const headers = { ...asked.headers, origin: 'http://localhost:3000', referer: 'http://127.0.0.1:3000/dq/' };
  expect(() => refuseElsewhere({ ...asked, headers })).not.toThrow();
});

it.each([
  ['10.0.0.7', 'localhost:3000'],
  ['::ffff:192.168.1.2', 'localhost:3000'],
  ['127.0.0.1', 'rebound.example:3000'],
  ['127.0.0.1', 'localhost.evil.example'],
  ['127.0.0.1', '127.0.0.1.evil.example:3000'],
  ['127.0.0.1', undefined],
  [undefined, 'localhost:3000'],
])('from %s to the host %s is from elsewhere', (address, host) => {
  expect(() => refuseElsewhere(request(address, host))).toThrow(
    /^a request from .* to the host .* is refused: without `guards` or `access` the dashboard serves only this machine, at localhost$/,
  );
});
