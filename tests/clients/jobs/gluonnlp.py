"""GluonNLP: a small BERT is fine-tuned for classification on drawn sentences."""

import gluonnlp as nlp
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

random = np.random.RandomState(0)


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


words = [f"w{i}" for i in range(40)]
vocabulary = nlp.vocab.BERTVocab(nlp.data.count_tokens(words))
encoder = nlp.model.BERTEncoder(num_layers=2, units=32, hidden_size=64, max_length=16, num_heads=4, dropout=0.0)
bert = nlp.model.BERTModel(
    encoder, len(vocabulary), token_type_vocab_size=2, units=32, embed_size=32, use_decoder=False, use_classifier=False
)
net = nlp.model.BERTClassifier(bert, num_classes=2, dropout=0.0)
net.initialize()
net(mx.nd.ones((1, 4)), mx.nd.zeros((1, 4)), mx.nd.array([4]))
for _, p in sorted(net.collect_params().items()):
    if p.name.endswith("weight"):
        p.set_data(mx.nd.array(random.randn(*p.shape) * 0.1))
net.hybridize()
sentences = [([words[i] for i in random.randint(0, 40, random.randint(4, 15))],) for _ in range(32)]
transform = nlp.data.batchify.Tuple(
    nlp.data.batchify.Pad(pad_val=vocabulary[vocabulary.padding_token]),
    nlp.data.batchify.Stack("float32"),
    nlp.data.batchify.Stack("int32"),
)
rows = [(vocabulary[s], float(len(s)), int("w3" in s)) for (s,) in sentences]
sampler = nlp.data.FixedBucketSampler([int(r[1]) for r in rows], batch_size=8, num_buckets=2, shuffle=False)
loader = gluon.data.DataLoader(gluon.data.SimpleDataset(rows), batchify_fn=transform, batch_sampler=sampler)
trainer = gluon.Trainer(net.collect_params(), "bertadam", {"learning_rate": 1e-3, "wd": 0.01})
loss = gluon.loss.SoftmaxCELoss()
for _ in range(3):
    total = 0.0
    for batch in loader:
        tokens, lengths, labels = (part.as_in_context(mx.cpu()) for part in batch)
        with autograd.record():
            scores = net(tokens, mx.nd.zeros_like(tokens), lengths)
            value = loss(scores, labels).mean()
        value.backward()
        trainer.step(1)
        total += value.asscalar()
    report("loss", total)
report("scores", *scores.asnumpy()[0])

language = nlp.model.StandardRNN("lstm", len(vocabulary), 16, 16, 1, 0.0, tie_weights=False)
language.initialize()
ids = mx.nd.array(random.randint(0, 40, (6, 2)))
language(ids, language.begin_state(batch_size=2, func=mx.nd.zeros))
for _, p in sorted(language.collect_params().items()):
    p.set_data(mx.nd.ones(p.shape) * 0.05)
out, _ = language(ids, language.begin_state(batch_size=2, func=mx.nd.zeros))
report("language model", out.sum().asscalar())
decode = nlp.model.BeamSearchScorer(alpha=0.6)
report("beam", decode(mx.nd.log_softmax(out[0]), mx.nd.zeros((2,)), mx.nd.array([3])).max().asscalar())
