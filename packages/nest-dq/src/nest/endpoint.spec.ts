import { describe, expect, it } from '@jest/globals';
import { parseLocation, locationStart } from '../copies/location.js';
import { parseEndpoint } from './endpoint.js';

describe('an endpoint', () => {
  it('is a host and a port', () => {
    expect(parseEndpoint('node-1.example:11300')).toEqual({
      text: 'node-1.example:11300',
      address: { host: 'node-1.example', port: 11300 },
      tls: false,
    });
    expect(parseEndpoint('[::1]:1')).toMatchObject({ text: '[::1]:1', address: { host: '::1', port: 1 } });
    expect(parseEndpoint('[fe80::1%eth0]:65535')).toMatchObject({
      address: { host: 'fe80::1%eth0', port: 65_535 },
    });
  });

  it('is reached over TLS if it says so', () => {
    expect(parseEndpoint('tls://10.0.0.1:11301')).toEqual({
      text: 'tls://10.0.0.1:11301',
      address: { host: '10.0.0.1', port: 11301 },
      tls: true,
    });
    expect(parseEndpoint('tls://[::1]:1')).toMatchObject({ address: { host: '::1', port: 1 }, tls: true });
  });

  it('is a socket of this machine', () => {
    expect(parseEndpoint('unix:/run/beanstalkd/a.sock')).toEqual({
      text: 'unix:/run/beanstalkd/a.sock',
      address: { path: '/run/beanstalkd/a.sock' },
      tls: false,
    });
  });

  it.each(['10.0.0.1:11300', 'tls://10.0.0.1:11301', 'tls://[::1]:1', 'unix:/run/a@1.sock'])(
    'is found again in a location: %s',
    (endpoint) => {
      expect(parseLocation(`${locationStart(endpoint, 'f00')}7`)).toEqual({
        endpoint,
        instance: 'f00',
        copyId: '7',
      });
    },
  );

  const NO_PORT = [
    'a',
    'a:',
    ':1',
    'a:0',
    'a:65536',
    'a:x',
    'a b:1',
    '::1:11300',
    'a#b:1',
    'tcp://a:1',
    '[::1]',
  ];
  const NO_TLS = ['tls://a', 'TLS://a:1', 'tls:a:1', 'tls://ann:secret@a:1', 'tls://tls://a:1'];
  const NO_PATH = ['unix:a.sock', 'unix:', 'unix:/', 'unix:/a b', 'unix:/a,b', 'unix:/a#b'];
  const TOO_LONG = `unix:/${'x'.repeat(103)}`;

  it.each([...NO_PORT, ...NO_TLS, ...NO_PATH, TOO_LONG])('is not %s', (text) => {
    expect(parseEndpoint(text)).toBeUndefined();
  });
});
