"""Train an LSTM language model letter by letter, convert it to ONNX, and let it write.

    python examples/language_model.py                                     # made-up sentences
    python examples/language_model.py shakespeare.txt --hidden 256 --epochs 30

It writes into the current folder."""

import argparse
from pathlib import Path

import gluonnx
import numpy as np
import onnxruntime
from gluonnx.mx import autograd, gluon, init, metric, nd

WORDS = "the a|old red fast|cat dog bird|sees hears|me you nothing everybody".split("|")


class Model(gluon.HybridBlock):
    """Letters (time, batch) and states in, scores (time, batch, letters) and states out."""

    def __init__(self, letters, hidden):
        super().__init__()
        self.embedding, self.lstm = gluon.nn.Embedding(letters, 32), gluon.rnn.LSTM(hidden)
        self.scores = gluon.nn.Dense(letters, flatten=False)

    def hybrid_forward(self, F, x, h, c):
        y, (h, c) = self.lstm(self.embedding(x), [h, c])
        return self.scores(y), h, c


def train(net, letters, epochs, batch=16, length=32):
    """Train on rows of the text, states going on along them; print each epoch's perplexity."""
    rows = letters[: len(letters) // batch * batch].reshape(batch, -1).T
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    entropy = gluon.loss.SoftmaxCrossEntropyLoss(batch_axis=1)
    for epoch in range(epochs):
        losses, (h, c) = metric.Loss(), net.lstm.begin_state(batch)
        for at in range(0, len(rows) - length, length):
            x, y = (nd.array(rows[at + i : at + i + length]) for i in (0, 1))
            with autograd.record():
                scores, h, c = net(x, h.detach(), c.detach())
                loss = entropy(scores, y)
            loss.backward()
            trainer.step(batch_size=batch)
            losses.update(None, loss)
        print(f"epoch {epoch + 1}: perplexity {np.exp(losses.get()[1]):.2f}")


def write(file, alphabet, h, c):
    """Give 200 letters that the ONNX file draws one after the other, each by its chance."""
    session, text = onnxruntime.InferenceSession(file), "\n"
    for _ in range(200):
        x = np.float32([[alphabet.index(text[-1])]])
        scores, h, c = session.run(None, {"data0": x, "data1": h, "data2": c})
        chances = np.exp(1.5 * (scores[0, 0] - scores.max()))
        text += np.random.choice(alphabet, p=chances / chances.sum())
    return text.strip()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("text", type=Path, nargs="?", help="a text file to learn from")
    options.add_argument("--hidden", type=int, default=64, help="size of the LSTM")
    options.add_argument("--epochs", type=int, default=4)
    given = options.parse_args()
    np.random.seed(0)
    made_up = (" ".join(map(np.random.choice, map(str.split, WORDS))) for _ in range(400))
    text = given.text.read_text() if given.text else ".\n".join(made_up)
    alphabet = sorted({*text, "\n"})
    net = Model(len(alphabet), given.hidden)
    net.initialize(init.Xavier())
    net.hybridize()
    train(net, np.float32([alphabet.index(letter) for letter in text]), given.epochs)
    net.export("writer")
    state = (1, 1, given.hidden)
    shapes = {"data0": (1, 1), "data1": state, "data2": state}
    print(gluonnx.convert("writer", inputs=shapes, output="writer.onnx"))
    print(write("writer.onnx", alphabet, *np.zeros((2, *state), "float32")))
