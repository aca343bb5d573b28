import { isCompatible } from './compatibility.js';

isCompatible({
  nest: '11.2',
  typescript: '7.0.2',
  versions: {
    common: '11.2.10',
    core: '11.2.10',
    testing: '11.2.6',
    'platform-express': '11.2.10',
    'platform-fastify': '11.2.8',
  },
  apps: [
    { format: 'module', resolution: 'nodenext', platform: 'context' },
    { format: 'module', resolution: 'bundler', platform: 'fastify' },
    { format: 'commonjs', resolution: 'nodenext', platform: 'express' },
    { format: 'commonjs', resolution: 'node16', platform: 'context' },
  ],
});
