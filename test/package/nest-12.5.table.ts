import { isCompatible } from './compatibility.js';

isCompatible({
  nest: '12.5',
  typescript: '7.0.2',
  versions: {
    common: '12.5.1',
    core: '12.5.1',
    testing: '12.1.1',
    'platform-express': '12.5.1',
    'platform-fastify': '12.5.0',
  },
  apps: [
    { format: 'module', resolution: 'nodenext', platform: 'express' },
    { format: 'module', resolution: 'bundler', platform: 'context' },
    { format: 'commonjs', resolution: 'nodenext', platform: 'fastify' },
  ],
});
